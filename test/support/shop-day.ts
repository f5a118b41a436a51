import { eventually } from './eventually.js';
import type { Product } from './product.js';

/** A message: how many minutes ago it was written, by whom, and the text. */
type Line = readonly [minutesAgo: number, by: 'them' | 'us', text: string];

/** A contact of a shop that sends parcels, with the messages from before Tidings was started. */
interface Customer {
  name: string;
  phoneNumber: string;
  history: readonly Line[];
}

const CUSTOMERS: readonly Customer[] = [
  customer(0, 'Ada Lovelace', [
    [1_480, 'us', 'Thanks for your order 1041! We will write as soon as it leaves our warehouse.'],
    [1_474, 'them', 'Great, thank you. Is it possible to have it by Friday?'],
    [1_469, 'us', 'Yes. It is packed today, and the courier needs one day.'],
    [95, 'them', 'Hello, is my order on its way?'],
    [88, 'us', 'It left this morning. The courier comes today between 2 and 4.'],
    [81, 'them', 'I am not at home before 3. Can it be left with a neighbour?'],
    [76, 'us', 'Of course. Which one? The courier needs a name and a door.'],
    [64, 'them', 'Mr Babbage, number 12, second floor.'],
  ]),
  customer(1, 'Grace Hopper', [
    [340, 'us', 'Your order 1042 has been sent. It arrives on Friday.'],
    [335, 'them', 'Wonderful, thanks!'],
  ]),
  customer(2, 'Alan Turing', [[520, 'them', 'Do you ship to Manchester?']]),
  customer(3, 'Katherine Johnson', [[610, 'them', 'The parcel arrived. All fine.']]),
  customer(4, 'Edsger Dijkstra', [[1_700, 'them', 'Please send the invoice to my office.']]),
  customer(5, 'Radia Perlman', [[2_950, 'us', 'Your order 1038 has been sent.']]),
  customer(6, 'Barbara Liskov', [[3_100, 'them', 'Is there a version in blue?']]),
  customer(7, 'Dennis Ritchie', [[4_400, 'them', 'Stop sending me offers, please.']]),
];

function customer(i: number, name: string, history: readonly Line[]): Customer {
  return { name, phoneNumber: `+1415555${String(100 + i).padStart(4, '0')}`, history };
}

/** Objects that the screenshots show. */
export interface ShopDay {
  /** Phone number of the customer with the longest conversation. */
  talker: string;
  deliveredSend: string;
  unknownSend: string;
}

/** Adds the customers and their earlier messages. Runs before the first read, so that these cause no events. */
export async function tellHistory(product: Pick<Product, 'simulate'>): Promise<void> {
  for (const { name, phoneNumber, history } of CUSTOMERS) {
    await product.simulate('contacts', { name, phoneNumber });
    for (const [minutesAgo, by, text] of history)
      await product.simulate('messages', {
        phoneNumber,
        text,
        timestamp: Date.now() - minutesAgo * 60_000,
        ...(by === 'us' ? { direction: 'outbound', delivered: true, read: true } : {}),
      });
  }
}

/** Sends and receives what such a shop does in a minute: most of it goes well, one send fails, one stays unknown. */
export async function runShop(product: Product): Promise<ShopDay> {
  const [ada, grace, alan, katherine, edsger, radia, barbara] = CUSTOMERS.map(
    ({ phoneNumber }) => phoneNumber,
  );
  const send = async (phoneNumber: string | undefined, message: string, more: object = {}): Promise<string> =>
    (await product.json<{ id: string }>('POST', '/v1/messages/send', { phoneNumber, message, ...more })).id;
  const until = (id: string, status: string): Promise<boolean> =>
    eventually(`the send ${id} is ${status}`, async () => {
      return (await product.json<{ status: string }>('GET', `/v1/sends/${id}`)).status === status;
    });
  const answer = (status: number, phoneNumber: string | undefined): Promise<unknown> =>
    product.simulate('faults', [
      { match: { method: 'POST', phoneNumber }, fault: { kind: 'status', status } },
    ]);

  await send(katherine, 'Thank you for the confirmation, Katherine.', { reference: 'order-1044' });
  await send(edsger, 'The invoice for order 1045 is in your mail box.', { reference: 'order-1045' });
  await send(barbara, 'Yes, in blue and in grey. Shall we reserve one?', { reference: 'enquiry-77' });
  await answer(400, alan);
  await until(await send(alan, 'We do: two days, 6.90 by courier.', { reference: 'order-1043' }), 'failed');
  await answer(500, radia);
  const unknownSend = await send(radia, 'Order 1046 has been sent. It arrives on Friday.', {
    reference: 'order-1046',
  });
  await until(unknownSend, 'unknown');
  await product.simulate('messages', { phoneNumber: barbara, text: 'A blue one, please!' });
  await product.simulate('messages', { phoneNumber: grace, text: 'One more thing: can you call me back?' });
  const deliveredSend = await send(ada, 'Noted: Mr Babbage, number 12, second floor.', {
    reference: 'order-1041',
    metadata: { orderId: 1041, desk: 'support' },
  });
  await until(deliveredSend, 'delivered');
  await product.simulate('messages', { phoneNumber: ada, text: 'Perfect, thank you!' });
  await send(ada, 'Has your parcel arrived? Answer with a number from 1 to 5.', {
    sendAt: new Date(Date.now() + 7_200_000).toISOString(),
    reference: 'survey-1041',
  });
  return { talker: ada ?? '', deliveredSend, unknownSend };
}
