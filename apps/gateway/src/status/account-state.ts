import { Inject, Injectable } from '@nestjs/common';
import type { AccountDescription, AccountRegistry } from '#accounts';
import type { EventLog } from '#events';
import type { FeedOverview, FeedStore } from '#feed';
import type { SendList, SendsOverview } from '#relay';
import type { BudgetUsage, UpstreamHealth } from '#upstream';
import type { DeliveriesOverview, DeliveriesOverviewReader } from '#webhooks';
import {
  ACCOUNT_REGISTRY,
  BUDGET_WATCH,
  DELIVERIES_WATCH,
  EVENT_LOG,
  FEED,
  SEND_LIST,
  UPSTREAM_HEALTH,
} from '../tokens.js';
import type { BudgetWatch } from './budget-watch.js';

/** The state of one account. */
export interface AccountState {
  /** Undefined if the account was removed meanwhile. */
  settings: AccountDescription | undefined;
  sends: SendsOverview;
  feed: FeedOverview;
  deliveries: DeliveriesOverview;
  /** Age of the oldest event for which no deliveries were created yet, in milliseconds. */
  dispatchLagMs: number;
  outage: Awaited<ReturnType<UpstreamHealth['outage']>>;
  budget: BudgetUsage;
}

/** Reads the state of accounts, for the status and the metrics. */
@Injectable()
export class AccountStates {
  constructor(
    @Inject(ACCOUNT_REGISTRY) private readonly accounts: Pick<AccountRegistry, 'find'>,
    @Inject(EVENT_LOG) private readonly log: Pick<EventLog, 'dispatchLagMs'>,
    @Inject(FEED) private readonly feed: Pick<FeedStore, 'overview'>,
    @Inject(SEND_LIST) private readonly sends: Pick<SendList, 'overview'>,
    @Inject(UPSTREAM_HEALTH) private readonly health: Pick<UpstreamHealth, 'outage'>,
    @Inject(BUDGET_WATCH) private readonly budget: BudgetWatch,
    @Inject(DELIVERIES_WATCH) private readonly deliveries: DeliveriesOverviewReader,
  ) {}

  async read(account: string): Promise<AccountState> {
    const settings = await this.accounts.find(account);
    const [budget, feed, sends, outage, deliveries, dispatchLagMs] = await Promise.all([
      this.budget.usage(account, settings?.requestsPerSecond ?? 1),
      this.feed.overview(account),
      this.sends.overview(account),
      this.health.outage(account),
      this.deliveries.overview(account),
      this.log.dispatchLagMs(account),
    ]);
    return { settings, sends, feed, deliveries, dispatchLagMs, outage, budget };
  }
}
