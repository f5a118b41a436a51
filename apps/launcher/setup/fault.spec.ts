import { describe, expect, it } from '@jest/globals';
import { permissionFaultOf } from './fault.mjs';

describe('an error while the checkout is set up', () => {
  it.each(['EACCES', 'EPERM', 'EROFS'])('names the file that cannot be written: %s', (code) => {
    const error = Object.assign(new Error(`${code}: mkdir`), { code, path: '/app/node_modules' });
    expect(permissionFaultOf(error)).toMatchObject({
      message: `Cannot write /app/node_modules (${code}); make this checkout writable for the current user`,
      exitCode: 1,
    });
  });

  it('is shown with its stack unless the cause is a file that cannot be written', () => {
    expect(permissionFaultOf(new Error('a fault of the program'))).toBeUndefined();
    expect(
      permissionFaultOf(Object.assign(new Error('ENOENT'), { code: 'ENOENT', path: '/x' })),
    ).toBeUndefined();
  });
});
