/** An invalid value. The message names the field and the problem. */
export class InvalidInput extends Error {
  override readonly name = 'InvalidInput';

  constructor(
    readonly field: string,
    readonly problem: string,
  ) {
    super(`${field} ${problem}`);
  }
}

/** A field that refers to something that does not exist. */
export class NotFound extends Error {
  override readonly name = 'NotFound';

  constructor(
    readonly field: string,
    readonly what: string,
  ) {
    super(`${field}: ${what} not found`);
  }
}
