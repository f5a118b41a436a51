/** Ignores errors of standard output and standard error, so that a process survives when their reader goes away. */
export function ignoreBrokenOutput(): void {
  for (const stream of [process.stdout, process.stderr]) {
    if (stream.listenerCount('error') === 0) stream.on('error', () => undefined);
  }
}
