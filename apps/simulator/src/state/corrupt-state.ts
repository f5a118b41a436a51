/** The state file cannot be read as one. It is left as it is: nothing in it is thrown away silently. */
export class CorruptState extends Error {
  override readonly name = 'CorruptState';

  constructor(path: string, problem: string) {
    super(`${path} is damaged: ${problem}; move it away or restore it`);
  }
}
