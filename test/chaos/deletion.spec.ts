import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { Product } from '../support/product.js';

let product: Product | undefined;

afterEach(async () => {
  await product?.[Symbol.asyncDispose]();
  product = undefined;
}, 60_000);

describe('a message that was deleted at upstream', () => {
  it('is reported as deleted once, with its last content, at least a minute after the deletion', async () => {
    product = await Product.start();
    const running = product;
    const { contacts } = await running.simulate<{ contacts: { id: string }[] }>('contacts', {
      phoneNumber: '+14155550199',
    });
    const contactId = contacts[0]?.id ?? '';
    const eventsOf = async (type: string): Promise<{ data: { message: { message?: string } } }[]> =>
      (
        await running.json<{ events: { data: { message: { message?: string } } }[] }>(
          'GET',
          `/v1/events?types=${type}`,
        )
      ).events;
    const first = await running.simulate<{ id: string }>('typing', { contactId, message: 'Soon gone' });
    await running.simulate('typing', { contactId, message: 'Stays' });
    await eventually(
      'both messages are reported',
      async () => (await eventsOf('message.received')).length === 2,
    );
    const deletedAt = performance.now();
    await running.simulate('messages/delete', { id: first.id });
    const deleted = await eventually(
      'the deletion is reported',
      async () => {
        const events = await eventsOf('message.deleted');
        return events.length > 0 && events;
      },
      150_000,
    );
    expect(performance.now() - deletedAt).toBeGreaterThan(59_000);
    expect(deleted.map(({ data }) => data.message.message)).toEqual(['Soon gone']);
  }, 240_000);
});
