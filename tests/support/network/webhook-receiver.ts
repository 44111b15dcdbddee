import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { Webhook } from "standardwebhooks";
import { assertDescribedWebhook } from "@/tests/support/contract";
import { listenForTest } from "@/tests/support/network/listen";

export type ReceivedWebhook = { headers: IncomingHttpHeaders; body: string; path: string | undefined };
type Respond = (response: ServerResponse, request: IncomingMessage) => void;

export type WebhookReceiver = {
  url: string;
  received: ReceivedWebhook[];
  /** How it responds from now on. At first, 204. */
  respond: Respond;
};

/** A receiver of webhooks on this machine, for one test. */
export async function startReceiver(): Promise<WebhookReceiver> {
  const receiver: WebhookReceiver = { url: "", received: [], respond: (response) => response.writeHead(204).end() };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    receiver.received.push({ headers: request.headers, body: Buffer.concat(chunks).toString(), path: request.url });
    receiver.respond(response, request);
  });
  receiver.url = `http://${await listenForTest(server)}/hooks`;
  return receiver;
}

/**
 * Verifies a delivery as a receiver does, with the package of the specification, and against public/openapi.json.
 * @throws if a signature is wrong
 */
export function verifyWebhook(secret: string, { headers, body }: ReceivedWebhook): { type: string; data: object } {
  const event = new Webhook(secret).verify(body, headers as Record<string, string>) as { type: string; data: object };
  assertDescribedWebhook(headers, event);
  return event;
}
