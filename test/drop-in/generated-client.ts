import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { AxiosResponse } from 'axios';
import { type Document, OpenAPIClientAxios } from 'openapi-client-axios';

const DOCUMENT = join(import.meta.dirname, 'upstream.openapi.json');
const DEADLINE_MS = 20_000;

/** A client of the messaging service, generated from its interface description. */
export class GeneratedClient {
  private constructor(
    private readonly api: OpenAPIClientAxios,
    private readonly schemas: Ajv2020,
  ) {}

  /** @param baseUrl base address, including `/v1` */
  static async at(baseUrl: string, apiKey: string): Promise<GeneratedClient> {
    const document = JSON.parse(await readFile(DOCUMENT, 'utf8')) as Document;
    const api = new OpenAPIClientAxios({
      definition: document,
      withServer: { url: baseUrl },
      axiosConfigDefaults: {
        headers: { 'X-API-Key': apiKey },
        timeout: DEADLINE_MS,
        validateStatus: () => true,
        proxy: false,
      },
    });
    await api.init();
    const schemas = new Ajv2020({ strict: false });
    formats.default(schemas);
    schemas.addSchema(document, 'document');
    return new GeneratedClient(api, schemas);
  }

  /**
   * Returns the body of a reply. @throws {Error} if the status is not 200 or the body does not match the description
   */
  async call<T>(
    operation: string,
    parameters: Readonly<Record<string, string | number>>,
    body?: FormData,
  ): Promise<T> {
    const { status, data } = await this.ask(operation, parameters, body);
    if (status !== 200) throw new Error(`${operation} answered ${status}: ${JSON.stringify(data)}`);
    const check = this.checkOf(operation);
    if (!check(data)) throw new Error(`${operation}: ${this.schemas.errorsText(check.errors)}`);
    return data as T;
  }

  /** Returns a reply of any status. */
  async ask(
    operation: string,
    parameters: Readonly<Record<string, string | number>> = {},
    body?: FormData,
  ): Promise<AxiosResponse<unknown>> {
    const client = await this.api.getClient();
    const method = client[operation];
    if (method === undefined) throw new Error(`the description has no operation ${operation}`);
    return (await method({ ...parameters }, body)) as AxiosResponse<unknown>;
  }

  private checkOf(operationId: string): ValidateFunction {
    const operation = this.api.getOperation(operationId);
    const found = Object.entries(this.api.document.paths ?? {}).find(([path]) => path === operation?.path);
    if (operation === undefined || found === undefined) throw new Error(`no operation ${operationId}`);
    const path = found[0]
      .replaceAll('~', '~0')
      .replaceAll('/', '~1')
      .replaceAll('{', '%7B')
      .replaceAll('}', '%7D');
    const $ref = `document#/paths/${path}/${operation.method}/responses/200/content/application~1json/schema`;
    return this.schemas.getSchema($ref) ?? this.schemas.compile({ $ref });
  }
}
