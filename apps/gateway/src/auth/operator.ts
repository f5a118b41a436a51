import { DEFAULT_ACCOUNT, type Principal } from '#accounts';

/** Whether the caller runs the installation: an admin of the environment's account sees and changes every account. */
export function isOperator({ account, scopes }: Principal): boolean {
  return account === DEFAULT_ACCOUNT && scopes.has('admin');
}

/** Whether the caller may know of an account. */
export function maySee(caller: Principal, account: string): boolean {
  return account === caller.account || isOperator(caller);
}
