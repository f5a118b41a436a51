import { createHash } from 'node:crypto';

/** A message in the format of upstream's interface description. */
export interface WireMessage {
  id: string;
  from: string;
  to: string;
  direction: 'inbound' | 'outbound';
  message: string;
  timestamp: string;
  attachments: { id: string; url: string; contentType: string; size: number }[];
  service: string;
  status: { read: boolean; delivered: boolean };
}

const OWN_NUMBER = '+15550109999';
const DAY_MS = 86_400_000;

/** Sample texts in several scripts: Latin with accents, Cyrillic, Arabic, Han, Devanagari, emoji. */
const PHRASES = [
  'See you at the station at half past six, and bring the keys please. ',
  'Your order 48213 has left our warehouse and should arrive on Thursday. ',
  'Danke für die schnelle Antwort – ich schaue morgen früh noch einmal vorbei. ',
  'On se retrouve après le déjeuner, ça te va ? ',
  'Спасибо, получил всё вовремя. Позвоню вечером. ',
  'شكرا جزيلا، سأكون هناك بعد ساعة. ',
  '明天下午三点在老地方见，好吗？',
  'ठीक है, मैं कल सुबह आपको फ़ोन करूँगा। ',
  'Haha 😂😂 that was great 🎉 ',
  '"Quoted", with a\nline break & <signs> ',
];

/** Format of ids: `uuid` has 36 characters (`xxxxxxxx-xxxx-…`), `hex24` has 24 hexadecimal digits. */
export type IdShape = 'uuid' | 'hex24';

/** Returns an id that looks random and is always the same for the same name. */
export function idOf(name: string, shape: IdShape = 'uuid'): string {
  const hex = createHash('sha256').update(name).digest('hex');
  if (shape === 'hex24') return hex.slice(0, 24);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `a${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}

/** Returns the phone number of the n-th contact. */
export function numberOf(n: number): string {
  return `+1555${String(1_000_000 + n)}`;
}

/**
 * Returns messages of the n-th contact, oldest first. The newest is some days older than `now`. Each text has
 * 20 to 300 characters.
 */
export function messagesOf(n: number, count: number, now: number, shape: IdShape = 'uuid'): WireMessage[] {
  const number = numberOf(n);
  return Array.from({ length: count }, (_, i): WireMessage => {
    const draw = createHash('sha256').update(`message ${n} ${i}`).digest();
    const drawn = (at: number): number => draw.readUInt16BE(2 * at);
    const outbound = drawn(0) % 2 === 0;
    const phrase = PHRASES[drawn(1) % PHRASES.length] ?? '';
    const text = phrase.repeat(20).slice(0, 20 + (drawn(2) % 281));
    const id = idOf(`message ${n} ${i}`, shape);
    return {
      id,
      from: outbound ? OWN_NUMBER : number,
      to: outbound ? number : OWN_NUMBER,
      direction: outbound ? 'outbound' : 'inbound',
      message: text.trim().padEnd(20, '.'),
      timestamp: new Date(now - 5 * DAY_MS + (i - count) * 3_600_000 + drawn(3) * 50).toISOString(),
      // One message in ten has an attachment.
      attachments:
        drawn(4) % 10 === 0
          ? [
              {
                id: idOf(`file ${n} ${i}`),
                url: `https://files.example/${id}.jpg`,
                contentType: 'image/jpeg',
                size: 48_213 + drawn(5),
              },
            ]
          : [],
      service: drawn(6) % 3 === 0 ? 'SMS' : 'iMessage',
      status: { read: drawn(7) % 2 === 0, delivered: true },
    };
  });
}
