import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import type { Context } from "../../context";
import { APPLE } from "../sources/app-store";
import { PADDLE } from "../sources/paddle";
import { type Api, failed, notConfigured, parseResponse } from "../sources/source";
import { STRIPE } from "../sources/stripe";

type Billing = Context["billing"];

/** What a provider's API says of an order: the transactions that purchases are stored with, or why it was not asked. */
type Order = { provider: string; transactions: string[]; problem: string | null };

/** Ids that customers have from receipts and that webhooks do not name, and how to ask for their purchases. */
type Form = { api: Api; pattern: RegExp; ask: (billing: Billing, id: string) => Promise<string[]> | undefined };

/** An operator waits for the response. */
const MAX_WAIT_MS = 5_000;

const FORMS: readonly Form[] = [
  { api: STRIPE, pattern: /^in_\w{8,}$/, ask: ({ stripe }, id) => stripe?.getInvoice(id).then(subscriptionOf) },
  {
    api: STRIPE,
    pattern: /^pi_\w{8,}$/,
    ask: ({ stripe }, id) => stripe?.listInvoicePayments(id).then(subscriptionsOf),
  },
  {
    api: PADDLE,
    pattern: /^txn_\w{8,}$/,
    ask: ({ paddle }, id) => paddle?.getTransaction(id).then(paddleSubscriptionOf),
  },
  { api: APPLE, pattern: /^M[A-Z0-9]{8,13}$/, ask: ({ appStore }, id) => appStore?.lookUpOrder(id).then(originalsOf) },
];

/** Asks the provider for an order that has the form of one of its ids, within five seconds; null: of none. Never throws. */
export async function lookUpOrder({ billing }: Pick<Context, "billing">, id: string): Promise<Order | null> {
  const form = FORMS.find(({ pattern }) => pattern.test(id));
  if (!form) return null;
  const { api, ask } = form;
  const asked = ask(billing, id);
  if (!asked) return { provider: api.name, transactions: [], problem: notConfigured(api.setting).extras.detail ?? "" };
  return Promise.race([asked, sleep(MAX_WAIT_MS, null, { ref: false }).then(giveUp)]).then(
    (transactions) => ({ provider: api.name, transactions, problem: null }),
    (error: unknown) => ({ provider: api.name, transactions: [], problem: failed(api, error).extras.detail ?? "" }),
  );
}

function giveUp(): never {
  throw new Error("no response within five seconds");
}

/** Stripe, "The Invoice object": since API version 2025-03-31 its parent is the subscription. */
const Invoice = z.object({
  subscription: z.string().nullish(),
  parent: z.object({ subscription_details: z.object({ subscription: z.string() }).nullish() }).nullish(),
});
const InvoicePayments = z.object({ data: z.array(z.object({ invoice: Invoice })) });

const subscriptionIn = ({ subscription, parent }: z.infer<typeof Invoice>): string[] =>
  [parent?.subscription_details?.subscription ?? subscription].filter((id) => typeof id === "string");

const subscriptionOf = (invoice: unknown): string[] =>
  invoice === null ? [] : subscriptionIn(parseResponse(STRIPE, Invoice, invoice));

const subscriptionsOf = (payments: unknown): string[] =>
  payments === null
    ? []
    : parseResponse(STRIPE, InvoicePayments, payments).data.flatMap(({ invoice }) => subscriptionIn(invoice));

/** Paddle, "Get a transaction". */
const Transaction = z.object({ data: z.object({ subscription_id: z.string().nullish() }) });

function paddleSubscriptionOf(response: unknown): string[] {
  const id = response === null ? null : parseResponse(PADDLE, Transaction, response).data.subscription_id;
  return id ? [id] : [];
}

const Lookup = z.object({ signedTransactions: z.array(z.string()).optional() });
const Payload = z.object({ originalTransactionId: z.string() });

/** App Store Server API, "OrderLookupResponse". The ids are compared with stored ones alone, so that no signature is verified. */
function originalsOf(response: unknown): string[] {
  if (response === null) return [];
  const { signedTransactions = [] } = parseResponse(APPLE, Lookup, response);
  const ids = signedTransactions.map((signed) => {
    const payload = JSON.parse(Buffer.from(signed.split(".")[1] ?? "", "base64url").toString());
    return parseResponse(APPLE, Payload, payload).originalTransactionId;
  });
  return [...new Set(ids)];
}
