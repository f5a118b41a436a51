/**
 * Ignores errors of standard output and standard error, so that the process keeps running if the program that
 * reads its output ends.
 */
export function ignoreBrokenOutput(): void {
  for (const stream of [process.stdout, process.stderr]) {
    if (stream.listenerCount('error') === 0) stream.on('error', () => undefined);
  }
}
