import { DEFAULT_ACCOUNT_ID, type Principal } from '#accounts';

/** True if the caller is an operator: an admin of the default account, who may see and change every account. */
export function isOperator({ account, scopes }: Principal): boolean {
  return account === DEFAULT_ACCOUNT_ID && scopes.has('admin');
}

/** True if the caller may see an account: its own, or any account for an operator. */
export function maySee(caller: Principal, account: string): boolean {
  return account === caller.account || isOperator(caller);
}
