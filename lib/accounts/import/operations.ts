import { operation } from "../../operation";
import { importAccounts } from "./import-accounts";
import { AccountRecord, ImportQuery, ImportResults, MAX_IMPORT_BYTES } from "./schema";

const RECORD = {
  email: "ann@example.com",
  emailVerified: "2024-03-01T09:00:00Z",
  name: "Ann Example",
  externalId: "usr_8f14e45f",
  password: { format: "bcrypt", hash: "$2b$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy" },
};

export const importOperations = {
  importAccounts: operation({
    id: "importAccounts",
    summary: "Import accounts",
    description:
      "Imports customers of another system, one JSON value a line: at most 1,000. Passwords keep working: the first sign-in replaces an imported hash. Imports no session and no role, and sends no email without `notify`. The results are in the order of the records; a record that is refused stops no other. Repeating the request changes nothing. A password that was set here, a second factor, a role and how an operator signs in are never changed.",
    role: "admin",
    scope: "accounts:write",
    stepUp: true,
    bodyFormat: "raw",
    maxBodyBytes: MAX_IMPORT_BYTES,
    query: ImportQuery,
    errors: ["validation_failed"],
    requestBody: {
      required: true,
      content: { "application/x-ndjson": { schema: AccountRecord, examples: { "One account": RECORD } } },
    },
    response: {
      description: "What happened to each record.",
      schema: ImportResults,
      examples: {
        Created: { results: [{ line: 1, status: "created", accountId: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b11" }] },
      },
    },
    run: ({ ctx, operator, bytes, query }) => importAccounts(ctx, operator, bytes, query),
  }),
};
