import { exportFileName } from "@/lib/accounts/export-account";
import { AccountExport } from "@/lib/accounts/schema";
import { deleteAccount } from "@/lib/admin/accounts/delete-account";
import { showAccount } from "@/lib/admin/accounts/details/show-account";
import { exportAccount } from "@/lib/admin/accounts/export-account";
import { AccountDetails, AccountParams, DeletedAccount, WithReason } from "@/lib/admin/accounts/schema";
import { operatorOf } from "@/lib/admin/operator";
import { endpoint } from "@/lib/http/endpoint";
import { jsonFile } from "@/lib/http/route-response";

const TO_WRITE = { role: "admin", stepUp: true, scope: "accounts:write" } as const;

export const getOne = endpoint({
  summary: "Show an account",
  auth: { role: "support", scope: "accounts:read" },
  params: AccountParams,
  errors: ["not_found"],
  responses: { 200: AccountDetails },
  handle: ({ ctx, params }) => showAccount(ctx, params.accountId),
});

export const deleteOne = endpoint({
  summary: "Delete an account",
  auth: TO_WRITE,
  idempotency: "replay",
  params: AccountParams,
  query: WithReason.strip(),
  errors: ["not_found", "last_admin"],
  responses: { 200: DeletedAccount },
  handle: ({ ctx, principal, params, query, caller }) =>
    deleteAccount(ctx, operatorOf(principal, caller), params.accountId, query),
});

export const exportOne = endpoint({
  summary: "Export the data of an account",
  auth: TO_WRITE,
  hasSideEffect: true,
  params: AccountParams,
  query: WithReason.strip(),
  errors: ["not_found"],
  responses: { 200: AccountExport },
  handle: async ({ ctx, principal, params, query, caller }) => {
    const data = await exportAccount(ctx, operatorOf(principal, caller), params.accountId, query);
    return jsonFile(exportFileName(data.exportedAt), data);
  },
});

export const headExport = endpoint({
  summary: "Get the headers of the export without creating it",
  auth: TO_WRITE,
  params: AccountParams,
  responses: { 200: null },
  handle: ({ ctx }) => jsonFile(exportFileName(ctx.now()), null),
});
