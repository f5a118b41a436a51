import { lookup } from 'node:dns/promises';

/** All addresses of a name, at least one. Rejects where there is none. */
export type Resolver = (hostname: string) => Promise<string[]>;

/**
 * Asks the operating system, so that /etc/hosts and a container's own names count.
 * Everybody who asks for the same name at the same time waits for one answer: the system's resolver has few threads,
 * and a name whose server hangs must not take all of them.
 */
export function systemResolver(): Resolver {
  const asked = new Map<string, Promise<string[]>>();
  return (hostname) => {
    const underWay = asked.get(hostname);
    if (underWay !== undefined) return underWay;
    const answer = ask(hostname).finally(() => asked.delete(hostname));
    asked.set(hostname, answer);
    return answer;
  };
}

async function ask(hostname: string): Promise<string[]> {
  const found = await lookup(hostname, { all: true, order: 'verbatim' });
  return found.map(({ address }) => address);
}
