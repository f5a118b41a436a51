import { afterAll } from '@jest/globals';
import { type Browser, type BrowserContext, chromium } from 'playwright-core';
import { findProgram } from './find-program.js';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome'];

/** Path of an installed Chromium, or undefined. */
export function findBrowser(): string | undefined {
  const folders = ['/Applications/Google Chrome.app/Contents/MacOS'];
  for (const name of NAMES) {
    const path = findProgram(name, folders);
    if (path !== undefined) return path;
  }
  return undefined;
}

/**
 * Returns the path of an installed Chromium, and closes the browser after the tests of the file. Without Chromium, prints
 * that tests are skipped, and returns undefined.
 * @param subject what is not tested without Chromium
 */
export function findBrowserFor(subject: string): string | undefined {
  const path = findBrowser();
  if (path === undefined)
    process.stderr.write(
      `*** SKIPPED: ${subject}: not tested in a browser, because Chromium is not installed. ***\n` +
        '*** On Debian or Ubuntu: sudo apt-get install chromium ***\n',
    );
  else afterAll(closeBrowser);
  return path;
}

/** The headless browser of the present test file, once a test has needed it. */
let shared: Browser | undefined;

/**
 * Runs the body in an empty session of a headless browser: without cookies, storage or cache of other tests. All tests
 * of a file share one browser, because starting one costs a second of processor time. {@link closeBrowser} ends it.
 */
export async function withBrowser(
  executable: string,
  body: (session: BrowserContext) => Promise<void>,
  options: { ignoreHTTPSErrors?: boolean } = {},
): Promise<void> {
  const session = await (await browserOf(executable)).newContext(options);
  try {
    await body(session);
  } finally {
    await session.close();
  }
}

/** Ends the browser of the present test file, if one was started. */
export async function closeBrowser(): Promise<void> {
  await shared?.close();
  shared = undefined;
}

/** Returns the running browser, or starts one that makes no network requests of its own. */
async function browserOf(executable: string): Promise<Browser> {
  if (shared?.isConnected() === true) return shared;
  shared = await chromium.launch({
    executablePath: executable,
    headless: true,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      // The tests of a file run one after the other, so that a second process for pages would only cost its start.
      '--renderer-process-limit=1',
    ],
  });
  return shared;
}
