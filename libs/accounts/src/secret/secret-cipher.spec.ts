import { describe, expect, it } from '@jest/globals';
import { SecretDecryptionError, SecretCipher } from './secret-cipher.js';

const cipher = new SecretCipher(Buffer.alloc(32, 1));

describe('an encrypted secret', () => {
  it.each(['', 'whsec_x', 'Grüße \u{1F44B} \u2028 \u0000', 'x'.repeat(10_000)])(
    'can be decrypted to the original text (case %#)',
    (secret) => {
      expect(cipher.decrypt(cipher.encrypt(secret, 'webhook:1'), 'webhook:1')).toBe(secret);
    },
  );

  it('does not reveal its text, and differs each time the same text is encrypted', () => {
    const sealed = cipher.encrypt('hush-hush', 'a');
    expect(sealed).not.toContain('hush');
    expect(Buffer.from(sealed.split('.')[1] ?? '', 'base64url').toString('latin1')).not.toContain('hush');
    expect(cipher.encrypt('hush-hush', 'a')).not.toBe(sealed);
    expect(sealed.startsWith(`${cipher.keyId}.`)).toBe(true);
  });

  it('cannot be decrypted in a different context, with a different key, or when damaged', () => {
    const sealed = cipher.encrypt('secret', 'a');
    expect(() => cipher.decrypt(sealed, 'b')).toThrow(SecretDecryptionError);
    expect(() => new SecretCipher(Buffer.alloc(32, 2)).decrypt(sealed, 'a')).toThrow(SecretDecryptionError);
    const [keyId = '', text = ''] = sealed.split('.');
    const bytes = Buffer.from(text, 'base64url');
    for (let i = 0; i < bytes.length; i += 1) {
      const damaged = Buffer.from(bytes);
      damaged[i] = (damaged[i] ?? 0) ^ 1;
      expect(() => cipher.decrypt(`${keyId}.${damaged.toString('base64url')}`, 'a')).toThrow(
        SecretDecryptionError,
      );
    }
    for (const cut of [0, 1, 12, 27, bytes.length - 1]) {
      expect(() => cipher.decrypt(`${keyId}.${bytes.subarray(0, cut).toString('base64url')}`, 'a')).toThrow(
        SecretDecryptionError,
      );
    }
    for (const other of ['', '.', keyId, 'nonsense'])
      expect(() => cipher.decrypt(other, 'a')).toThrow(SecretDecryptionError);
  });

  it('can be decrypted with a previous key, but new secrets are encrypted only with the current key', () => {
    const [old, next] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
    const sealed = new SecretCipher(old).encrypt('secret', 'a');
    const ring = new SecretCipher(next, [Buffer.alloc(32, 3), old]);
    expect(ring.decrypt(sealed, 'a')).toBe('secret');
    const again = ring.encrypt('secret', 'a');
    expect(new SecretCipher(next).decrypt(again, 'a')).toBe('secret');
    expect(() => new SecretCipher(old).decrypt(again, 'a')).toThrow(SecretDecryptionError);
    expect(() => ring.decrypt(sealed, 'b')).toThrow(SecretDecryptionError);
  });
});
