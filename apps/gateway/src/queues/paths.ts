/** Path of the queues for callers with an API key. Everything below it can only be read. */
export const QUEUES_PATH = '/console/queues';

/**
 * Path of the same pages for the frame in the console. A frame cannot send headers, so the pages below this path need
 * no credential. They contain no data.
 */
export const FRAME_PATH = `${QUEUES_PATH}/board`;

/** True for the path of the queues and for every path below it. */
export function isQueuesPath(path: string): boolean {
  return path === QUEUES_PATH || path.startsWith(`${QUEUES_PATH}/`);
}
