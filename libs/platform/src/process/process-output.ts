/** Whatever reads the output of a process may go away; that is no reason for the process to fail, or to hang. */
export function ignoreBrokenOutput(): void {
  for (const stream of [process.stdout, process.stderr]) {
    if (stream.listenerCount('error') === 0) stream.on('error', () => undefined);
  }
}
