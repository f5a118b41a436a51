/** Maximum number of search words that are stored per contact. */
const MAX_WORDS = 16;
/** Maximum number of characters of a search word. Longer words are cut to this length. */
const MAX_WORD_LENGTH = 32;
/** Words are taken only from this many characters at the beginning of a text. */
const MAX_TEXT_LENGTH = 1_000;

/** Matches a text that begins with a URL, or with a date and a time. No search words are taken from such a text. */
const URL_OR_TIME = /^[a-z][a-z0-9+.-]*:\/\/|^\d{4}-\d\d-\d\dT/i;

/**
 * Returns the search words of a contact: the words in its text fields, and in the texts of lists and objects that are
 * nested up to two levels deep. The id, URLs and times are left out. Returns at most {@link MAX_WORDS} words.
 */
export function searchWordsOfContact(contact: Readonly<Record<string, unknown>>): string[] {
  const texts = Object.entries(contact).flatMap(([name, value]) => (name === 'id' ? [] : textsIn(value, 2)));
  const words = texts.filter((text) => !URL_OR_TIME.test(text)).flatMap(normalizedWordsOf);
  return [...new Set(words)].slice(0, MAX_WORDS);
}

/**
 * Returns the words of a text in the form in which they are compared: lower case, without accents, letters and digits
 * only.
 */
function normalizedWordsOf(text: string): string[] {
  return normalized(text.slice(0, MAX_TEXT_LENGTH))
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
    .map((word) => Array.from(word).slice(0, MAX_WORD_LENGTH).join(''));
}

/** Returns a text in the form in which words are compared: lower case, without accents. */
function normalized(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase();
}

/** What a search looks for: either words, or digits. */
export interface SearchTerms {
  /** Beginnings of words. For each of them, the contact must have a word that begins with it. */
  words: string[];
  /** Digits with which a phone number begins or ends, or a word begins. Undefined if the search is for words. */
  digits?: string;
}

/** Matches a query that is treated as part of a phone number if it also contains a digit. */
const NUMBER_PART = /^[+(\d][\d\s().\-/]*$/;

/** Returns what a query of a user looks for: a part of a phone number, or the beginnings of words. */
export function parseSearchQuery(query: string): SearchTerms {
  const text = query.trim();
  const digits = text.replace(/\D/g, '');
  if (NUMBER_PART.test(text) && digits !== '') return { words: [], digits };
  return { words: [...new Set(normalizedWordsOf(text))] };
}

function textsIn(value: unknown, depth: number): string[] {
  if (typeof value === 'string') return [value];
  if (depth === 0 || typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap((part) => textsIn(part, depth - 1));
}
