import { operation } from "../operation";
import { SearchQuery, SearchResults } from "./schema";
import { search } from "./search";

const ACCOUNT_ID = "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b11";

export const searchOperations = {
  search: operation({
    id: "search",
    summary: "Find what a text names",
    description:
      "Finds accounts, purchases, billing events, releases, devices, messages and the events of webhooks, and for admins API keys, by an id as customers, stores and the billing provider have it, or by the beginning of an email, a name, a token or a key. A label before an id, quotes around it and invisible characters are ignored. API keys cannot search.",
    role: "support",
    query: SearchQuery,
    response: {
      description: "What was found.",
      schema: SearchResults,
      examples: {
        "One purchase": {
          results: [
            {
              kind: "purchase",
              id: "019aa5f1-2b3c-7d4e-8f50-617283940a1b",
              title: "com.example.pro.monthly",
              detail: "play_store, GPA.3345-1234-5678-90123, ann@example.com",
              path: "/console/billing/purchases/019aa5f1-2b3c-7d4e-8f50-617283940a1b",
              isExact: true,
            },
          ],
          order: null,
        },
        "Accounts by the beginning of an email": {
          results: [
            {
              kind: "account",
              id: ACCOUNT_ID,
              title: "ann@example.com",
              detail: "Ann Example",
              path: `/console/accounts/${ACCOUNT_ID}`,
              isExact: false,
            },
          ],
          order: null,
        },
      },
    },
    run: ({ ctx, principal, query }) => {
      const isAdmin = !("account" in principal) || principal.account.role === "admin";
      return search(ctx, isAdmin ? "admin" : "support", query.query);
    },
  }),
};
