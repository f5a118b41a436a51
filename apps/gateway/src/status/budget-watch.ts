import type { BudgetUsage } from '#upstream';

/** Reports the use of an account's request budget. */
export interface BudgetWatch {
  /** Returns the current use. @param rate the account's budget, in requests per second */
  usage(account: string, rate: number): Promise<BudgetUsage>;
}
