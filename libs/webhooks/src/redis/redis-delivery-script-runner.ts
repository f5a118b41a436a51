import { accountKeys, type LuaArguments, type LuaScript, type RedisClient } from '#platform';

/** Runs the scripts of deliveries, whose keys all begin with the prefix of an account. */
export class RedisDeliveryScriptRunner {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
  ) {}

  /** @param args the arguments of the script, without `base` */
  run(script: LuaScript, account: string, args: LuaArguments): Promise<unknown> {
    const keys = accountKeys(this.prefix, account);
    // Redis Cluster uses the key `webhooks` to find the node that runs the script. The script builds the names of its
    // other keys from the prefix `base`.
    return script.run(this.redis, { webhooks: keys('webhooks') }, { base: keys(''), ...args });
  }
}
