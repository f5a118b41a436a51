import type { RowEntry, RowUpdate } from '../row/row-entry.js';

const KINDS = { inbound: 'in', outbound: 'out', other: 'other' } as const;

/**
 * Returns the arguments of a script that includes `row-messages.lua`: the number of changes of the conversation row,
 * then for each change its kind, time in milliseconds since 1970, message id, phone number, preview and send id. A
 * value that a change does not have is 0 or ''.
 */
export function rowUpdateLuaArguments({ entries }: Pick<RowUpdate, 'entries'>): (string | number)[] {
  return [entries.length, ...entries.flatMap(argumentsOfEntry)];
}

function argumentsOfEntry(entry: RowEntry): (string | number)[] {
  switch (entry.kind) {
    case 'message': {
      const { id, direction, at, phoneNumber = '', preview = '', isUnread, sendId = '' } = entry.message;
      const kind = isUnread === true ? 'unread' : KINDS[direction];
      return [kind, Math.round(at), id, phoneNumber, preview, sendId];
    }
    case 'text':
      return ['text', 0, entry.id, '', entry.preview, ''];
    case 'deleted':
      return ['deleted', 0, entry.id, '', '', ''];
    case 'bound':
      return ['bound', 0, '', entry.phoneNumber, '', entry.sendId];
    case 'reset':
      return ['reset', 0, '', '', '', ''];
    case 'replace':
      return ['replace', Math.round(entry.upTo), '', '', '', ''];
  }
}
