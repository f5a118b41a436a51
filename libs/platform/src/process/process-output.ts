/**
 * Makes the process ignore errors of standard output and standard error. The process then keeps running if the
 * program that reads its output ends.
 */
export function ignoreStdoutAndStderrErrors(): void {
  for (const stream of [process.stdout, process.stderr]) {
    if (stream.listenerCount('error') === 0) stream.on('error', () => undefined);
  }
}
