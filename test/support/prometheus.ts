import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from '#embedded-redis';
import { eventually } from './eventually.js';
import { ROOT } from './process.js';

/** An alert that Prometheus reports. */
export interface Alert {
  labels: Record<string, string>;
  annotations: Record<string, string>;
  state: 'pending' | 'firing';
}

/** A Prometheus that reads the metrics of the given processes and evaluates the alerts of the product. */
export class TestPrometheus implements AsyncDisposable {
  private constructor(
    private readonly child: ChildProcess,
    private readonly folder: string,
    private readonly port: number,
  ) {}

  /**
   * Starts Prometheus. In its copy of the rules, each minute is a second.
   * @param program path of the program
   * @param targets ports of the processes, by job
   */
  static async start(
    program: string,
    targets: Readonly<Record<string, readonly number[]>>,
  ): Promise<TestPrometheus> {
    const folder = await mkdtemp(join(tmpdir(), 'tidings-prometheus-'));
    const rules = await readFile(join(ROOT, 'monitoring/alerts.yml'), 'utf8');
    await writeFile(
      join(folder, 'alerts.yml'),
      rules.replace(/\b(\d+)m\b/g, '$1s').replace(/(\d+) \* 60\b/g, '$1'),
    );
    const jobs = Object.entries(targets).map(([job_name, ports]) => ({
      job_name,
      static_configs: [{ targets: ports.map((port) => `127.0.0.1:${port}`) }],
    }));
    const configuration = {
      global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
      rule_files: ['alerts.yml'],
      scrape_configs: jobs,
    };
    // JSON is YAML.
    await writeFile(join(folder, 'prometheus.yml'), JSON.stringify(configuration));
    const port = await findFreePort();
    const child = spawn(
      program,
      [
        `--config.file=${join(folder, 'prometheus.yml')}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
        '--log.level=error',
      ],
      { cwd: folder, stdio: 'ignore' },
    );
    const prometheus = new TestPrometheus(child, folder, port);
    await eventually('Prometheus is ready', async () => (await prometheus.fetch('/-/ready')).ok);
    return prometheus;
  }

  /** Returns the alerts that fire. */
  async firing(): Promise<Alert[]> {
    const reply = await this.fetch('/api/v1/alerts');
    const { data } = (await reply.json()) as { data: { alerts: Alert[] } };
    return data.alerts.filter(({ state }) => state === 'firing');
  }

  /** Returns the number of series in the result of a query. */
  async seriesOf(query: string): Promise<number> {
    const reply = await this.fetch(`/api/v1/query?query=${encodeURIComponent(query)}`);
    const body = (await reply.json()) as { status: string; error?: string; data?: { result: unknown[] } };
    if (body.data === undefined) throw new Error(`${query}: ${body.error ?? body.status}`);
    return body.data.result.length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await ended;
    await rm(this.folder, { recursive: true, force: true });
  }

  private fetch(path: string): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.port}${path}`, { signal: AbortSignal.timeout(5_000) });
  }
}
