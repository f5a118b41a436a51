// Style sheets are part of the bundle.
declare module '*.css';
