// Control characters, separators of lines and paragraphs, and the marks that change the direction of text.
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;
/** Splits a text into what a person sees as one character, such as an emoji with a skin tone. */
const CHARACTERS = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/**
 * Makes a text safe to print on a terminal: a message or an error from a server may contain sequences that clear the
 * screen, rename the window or hide what follows. Line breaks and tabs become spaces, other unsafe characters become
 * U+FFFD.
 */
export function printable(text: string): string {
  return text.replace(UNSAFE, (character) => (/[\t\n\r\u2028\u2029]/.test(character) ? ' ' : '\ufffd'));
}

/** Returns at most `length` characters of a text, made printable, with `…` where something was left out. */
export function excerpt(text: string, length: number): string {
  const shown: string[] = [];
  for (const { segment } of CHARACTERS.segment(printable(text))) {
    if (shown.length === length) return `${shown.slice(0, -1).join('')}…`;
    shown.push(segment);
  }
  return shown.join('');
}
