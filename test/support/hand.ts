import type { Locator, Page } from 'playwright-core';
import { eventually } from './eventually.js';

/** The device with which a {@link Hand} presses elements of the console. */
export type Device = 'mouse' | 'keyboard';

/** A reader of the console who presses elements only by mouse, or only by keyboard. Both type texts. */
export interface Hand {
  /** Number of elements that were pressed, and of pages that were opened from the navigation. */
  readonly steps: number;
  /** Presses a link, a button, a check box or a summary. */
  press: (target: Locator) => Promise<void>;
  /** Writes a text into a field, in place of what is there. */
  write: (field: Locator, text: string) => Promise<void>;
  /** Opens a page of the navigation: by mouse with its link, by keyboard with `g` and its key. */
  open: (title: string, key: string) => Promise<void>;
}

/** Returns a hand that uses the device on the page. */
export function handOf(device: Device, page: Page): Hand {
  return device === 'mouse' ? new MouseHand(page) : new KeyboardHand(page);
}

class MouseHand implements Hand {
  steps = 0;

  constructor(private readonly page: Page) {}

  async press(target: Locator): Promise<void> {
    this.steps += 1;
    await target.click();
  }

  async write(field: Locator, text: string): Promise<void> {
    await field.click();
    await replaceText(this.page, text);
  }

  async open(title: string): Promise<void> {
    const navigation = this.page.getByRole('navigation', { name: 'Console' });
    await this.press(navigation.getByRole('link', { name: title, exact: true }));
    await this.page.getByRole('heading', { name: title, level: 1 }).waitFor();
  }
}

/**
 * Reaches each element by Tab alone. Fails if Tab does not reach an element, if the reader cannot see which element
 * has the focus, or if no element has the focus after the previous step.
 */
class KeyboardHand implements Hand {
  steps = 0;

  constructor(private readonly page: Page) {}

  async press(target: Locator): Promise<void> {
    await this.reach(target);
    this.steps += 1;
    await this.page.keyboard.press((await this.isA(target, 'input[type=checkbox]')) ? 'Space' : 'Enter');
  }

  async write(field: Locator, text: string): Promise<void> {
    await this.reach(field);
    await replaceText(this.page, text);
  }

  async open(title: string, key: string): Promise<void> {
    await this.expectFocus();
    // In a field, `g` is a letter of its text.
    while (await this.page.evaluate<boolean>(IS_IN_FIELD)) await this.tab();
    this.steps += 1;
    await this.page.keyboard.press('g');
    await this.page.keyboard.press(key);
    await this.page.getByRole('heading', { name: title, level: 1 }).waitFor();
    await this.expectFocus();
  }

  private async isA(target: Locator, selector: string): Promise<boolean> {
    return (await target.and(this.page.locator(selector)).count()) > 0;
  }

  private async expectFocus(): Promise<void> {
    await eventually(
      'an element has the focus',
      () => this.page.evaluate<boolean>('document.activeElement !== document.body'),
      FOCUS_DEADLINE_MS,
    );
  }

  /** Presses Tab, waits until the focus has left the previous element, and returns the next focused element. */
  private async tab(): Promise<FocusedElement> {
    await this.page.evaluate('globalThis.tabbedFrom = document.activeElement');
    await this.page.keyboard.press('Tab');
    return await eventually(
      'Tab moves the focus',
      () => this.page.evaluate<FocusedElement | null>(FOCUSED_ELEMENT),
      FOCUS_DEADLINE_MS,
    );
  }

  private async reach(target: Locator): Promise<void> {
    await target.waitFor();
    await this.expectFocus();
    // After this many steps, Tab has reached each element of the page.
    const most = (await this.page.evaluate<number>(COUNT_STOPS)) + SPARE_STOPS;
    const seen: string[] = [];
    while (!(await this.isA(target, ':focus'))) {
      if (seen.length > most)
        throw new Error(`Tab does not reach ${String(target)}, but:\n${seen.join('\n')}`);
      const { name, fault } = await this.tab();
      if (fault !== null) throw new Error(`The focus cannot be seen, because ${fault}: ${name}`);
      seen.push(name);
    }
  }
}

/**
 * Time within which a page must move the focus after it was rendered, in milliseconds. It is long, because a lost
 * focus stays lost.
 */
const FOCUS_DEADLINE_MS = 30_000;
/** Additional steps, because elements may appear during the steps. */
const SPARE_STOPS = 20;
const IS_IN_FIELD = `document.activeElement.matches('input, textarea, select')`;
const COUNT_STOPS = `document.querySelectorAll('a, button, input, select, textarea, summary, [tabindex]').length`;

interface FocusedElement {
  /** The beginning of the markup of the element. */
  name: string;
  /** Why the reader cannot see that the element has the focus. Null if the reader can see it. */
  fault: string | null;
}

/**
 * The element that Tab led to, or null while the focus has not left the previous element. Between the end and the
 * beginning of the page, the focus is in the controls of the browser, on no element of the page.
 */
const FOCUSED_ELEMENT = `(() => {
  const element = document.activeElement;
  if (element === tabbedFrom) return null;
  if (element === document.body) return { name: 'the controls of the browser', fault: null };
  // A link that fills its tile draws the outline around the tile.
  const isOutlined = [undefined, '::after'].some((part) => {
    const { outlineStyle, outlineWidth } = getComputedStyle(element, part);
    return outlineStyle !== 'none' && parseFloat(outlineWidth) > 0;
  });
  const { width, height, top, bottom, left, right } = element.getBoundingClientRect();
  const isOutside = bottom <= 0 || right <= 0 || top >= innerHeight || left >= innerWidth;
  const fault =
    !isOutlined ? 'it has no outline'
    : width <= 1 || height <= 1 || !element.checkVisibility({ visibilityProperty: true }) ? 'it is hidden'
    : isOutside ? 'it is outside the window'
    : null;
  return { name: element.outerHTML.slice(0, 160), fault };
})()`;

async function replaceText(page: Page, text: string): Promise<void> {
  await page.keyboard.press('ControlOrMeta+A');
  await page.keyboard.type(text);
}
