import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, chromium } from 'playwright-core';
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
 * Returns the path of an installed Chromium. Without one, prints that tests are skipped, and returns undefined.
 * @param subject what is not tested without Chromium
 */
export function findBrowserFor(subject: string): string | undefined {
  const path = findBrowser();
  if (path === undefined)
    process.stderr.write(
      `*** SKIPPED: ${subject}: not tested in a browser, because Chromium is not installed. ***\n` +
        '*** On Debian or Ubuntu: sudo apt-get install chromium ***\n',
    );
  return path;
}

/** Runs the body in a new headless browser that makes no network requests of its own. */
export async function withBrowser(
  executable: string,
  body: (browser: BrowserContext) => Promise<void>,
  options: { ignoreHTTPSErrors?: boolean } = {},
): Promise<void> {
  const profile = await mkdtemp(join(tmpdir(), 'tidings-browser-'));
  try {
    const browser = await chromium.launchPersistentContext(profile, {
      executablePath: executable,
      headless: true,
      ...options,
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
      ],
    });
    try {
      await body(browser);
    } finally {
      await browser.close();
    }
  } finally {
    await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  }
}
