import { describe, expect, it } from '@jest/globals';
import { received, WithFeedHarness } from './with-feed-harness.js';

/** A sixteenth of the product's bound, because each oversized page is requested many times. */
const MAX_REPLY_BYTES = 1024 * 1024;

const here = new WithFeedHarness(MAX_REPLY_BYTES);

describe.each(['newestFirst', 'oldestFirst'] as const)('a huge page of messages in order %s', (order) => {
  it('causes no event if all its messages are oversized; once the page has a normal size again, new messages cause events', async () => {
    const { harness } = here;
    harness.control('settings', { order });
    const { contactId } = await here.createKnownContact(3);
    harness.control('settings', { hugePage: { bytes: 2 * MAX_REPLY_BYTES, per: 'message', contactId } });
    await here.readAllMinutesApart(contactId, 3);
    expect(await harness.eventTypes()).toEqual([]);
    harness.control('settings', { hugePage: null });
    const ids = harness.createMessages(contactId);
    await harness.sweep();
    expect(await here.messageEvents()).toEqual(received(ids));
  });
});
