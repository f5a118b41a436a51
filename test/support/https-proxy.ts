import { once } from 'node:events';
import { request as forward } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import {
  TEST_CERTIFICATE,
  TEST_PRIVATE_KEY,
} from '../../libs/webhooks/src/destination/fixtures/certificate.js';
import type { Product } from './product.js';

/** A proxy that ends TLS in front of a gateway, with a certificate that no authority has signed. */
export class HttpsProxy implements AsyncDisposable {
  private constructor(
    private readonly server: Server,
    /** Origin of the gateway's pages over HTTPS. */
    readonly address: string,
  ) {}

  static async start(product: Product): Promise<HttpsProxy> {
    const server = createServer({ cert: TEST_CERTIFICATE, key: TEST_PRIVATE_KEY }, (request, reply) => {
      const { method, url: path, headers } = request;
      const onward = forward({ port: product.gateway.port, method, path, headers }, (answer) => {
        reply.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(reply);
      });
      onward.on('error', () => reply.destroy());
      reply.on('close', () => onward.destroy());
      request.pipe(onward);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new HttpsProxy(server, `https://localhost:${(server.address() as AddressInfo).port}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }
}
