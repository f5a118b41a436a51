// Control characters of both ranges, and the marks that reverse the direction of what follows.
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/**
 * Makes text of others safe for a terminal: a message or an error text may contain sequences that clear the screen,
 * rename the window or hide what follows. Line breaks and tabs become spaces.
 */
export function printable(text: string): string {
  return text.replace(UNSAFE, (character) => (/[\t\n\r]/.test(character) ? ' ' : '\ufffd'));
}

/** Returns at most `length` characters of a text, made printable, with `…` where something was left out. */
export function excerpt(text: string, length: number): string {
  const characters = Array.from(printable(text));
  return characters.length <= length ? characters.join('') : `${characters.slice(0, length - 1).join('')}…`;
}
