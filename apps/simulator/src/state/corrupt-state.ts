/** The state file is unreadable. The file is left unchanged, so that no data is discarded silently. */
export class CorruptState extends Error {
  override readonly name = 'CorruptState';

  constructor(path: string, problem: string) {
    super(`${path} is damaged: ${problem}; move the file away, or restore it from a backup`);
  }
}
