import { describe, expect, it } from '@jest/globals';
import { SecretDecryptionError, SecretBox } from './secret-box.js';

const box = new SecretBox(Buffer.alloc(32, 1));

describe('an encrypted secret', () => {
  it.each(['', 'whsec_x', 'Grüße \u{1F44B} \u2028 \u0000', 'x'.repeat(10_000)])(
    'decrypts to the same text: sample %#',
    (secret) => {
      expect(box.open(box.seal(secret, 'webhook:1'), 'webhook:1')).toBe(secret);
    },
  );

  it('does not reveal its text, and differs each time the same text is encrypted', () => {
    const sealed = box.seal('hush-hush', 'a');
    expect(sealed).not.toContain('hush');
    expect(Buffer.from(sealed.split('.')[1] ?? '', 'base64url').toString('latin1')).not.toContain('hush');
    expect(box.seal('hush-hush', 'a')).not.toBe(sealed);
    expect(sealed.startsWith(`${box.keyId}.`)).toBe(true);
  });

  it('cannot be decrypted in another context, with another key, or when damaged', () => {
    const sealed = box.seal('secret', 'a');
    expect(() => box.open(sealed, 'b')).toThrow(SecretDecryptionError);
    expect(() => new SecretBox(Buffer.alloc(32, 2)).open(sealed, 'a')).toThrow(SecretDecryptionError);
    const [keyId = '', text = ''] = sealed.split('.');
    const bytes = Buffer.from(text, 'base64url');
    for (let i = 0; i < bytes.length; i += 1) {
      const damaged = Buffer.from(bytes);
      damaged[i] = (damaged[i] ?? 0) ^ 1;
      expect(() => box.open(`${keyId}.${damaged.toString('base64url')}`, 'a')).toThrow(SecretDecryptionError);
    }
    for (const cut of [0, 1, 12, 27, bytes.length - 1]) {
      expect(() => box.open(`${keyId}.${bytes.subarray(0, cut).toString('base64url')}`, 'a')).toThrow(
        SecretDecryptionError,
      );
    }
    for (const other of ['', '.', keyId, 'nonsense'])
      expect(() => box.open(other, 'a')).toThrow(SecretDecryptionError);
  });

  it('can be decrypted with a previous key, but new secrets are encrypted only with the current key', () => {
    const [old, next] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
    const sealed = new SecretBox(old).seal('secret', 'a');
    const ring = new SecretBox(next, [Buffer.alloc(32, 3), old]);
    expect(ring.open(sealed, 'a')).toBe('secret');
    const again = ring.seal('secret', 'a');
    expect(new SecretBox(next).open(again, 'a')).toBe('secret');
    expect(() => new SecretBox(old).open(again, 'a')).toThrow(SecretDecryptionError);
    expect(() => ring.open(sealed, 'b')).toThrow(SecretDecryptionError);
  });
});
