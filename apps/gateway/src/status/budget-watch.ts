import type { BudgetUsage } from '#upstream';

/** Knows how an account's budget is used. */
export interface BudgetWatch {
  /** @param rate the account's setting, in requests a second */
  usage(account: string, rate: number): Promise<BudgetUsage>;
}
