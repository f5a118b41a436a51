/** A value that the simulator cannot use: it names the field and says what is wrong with it. */
export class InvalidInput extends Error {
  override readonly name = 'InvalidInput';

  constructor(
    readonly field: string,
    readonly problem: string,
  ) {
    super(`${field} ${problem}`);
  }
}

/** A field that names something which does not exist. */
export class NotFound extends Error {
  override readonly name = 'NotFound';

  constructor(
    readonly field: string,
    readonly what: string,
  ) {
    super(`${field} names no ${what}`);
  }
}
