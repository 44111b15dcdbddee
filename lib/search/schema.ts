import { z } from "zod";
import { StorableText } from "../platform/storable";

/** The longest ids are the endpoints of Web Push. */
const MAX_QUERY_LENGTH = 1_024;

export const SearchQuery = z.object({
  query: StorableText.max(MAX_QUERY_LENGTH).meta({
    description:
      "The beginning of an email, a name, a device's token (8 digits at least) or an API key; or a complete id of an account, a purchase, an event, a message or a device, also as another system, a store or the billing provider has it; or a version.",
    examples: ["GPA.3345-1234-5678-90123"],
  }),
});

/** The kinds of results, in their order. */
export const SearchKind = z.enum([
  "account",
  "purchase",
  "billing_event",
  "release",
  "device",
  "message",
  "webhook_event",
  "api_key",
]);

export const SearchResult = z.object({
  kind: SearchKind,
  id: z.string().describe("Unique among the results of its kind."),
  title: z.string(),
  detail: z.string().describe("What tells it from others with this title."),
  path: z.string().describe("Its page in the console."),
  isExact: z
    .boolean()
    .describe("The query is an id, an email or a version of it, and not only the beginning of a text."),
});
export type SearchResult = z.infer<typeof SearchResult>;

/** What a provider's API says of an id that only it knows, such as that of an invoice. */
const OrderAnswer = z.object({
  provider: z.string(),
  transactions: z.array(z.string()).describe("What the id belongs to. Empty: the provider does not know it."),
  problem: z.string().nullable().describe("Why the provider could not be asked. null: it has responded."),
});

export const SearchResults = z.object({
  results: z.array(SearchResult).describe("Up to 10 of each kind."),
  order: OrderAnswer.nullable().describe("null: the provider was not asked."),
});
export type SearchResults = z.infer<typeof SearchResults>;
