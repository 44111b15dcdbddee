import { NewKeyForm, scopeField, toNewKey } from "@/lib/auth/api-keys/form";
import { createKey } from "@/lib/auth/api-keys/keys";
import { setShownSecretCookie } from "@/lib/platform/http/pages/shown-secret-cookie";
import { Scope } from "@/lib/principal";
import { defineConsoleForm } from "../../define-console-form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm("/forms/console/keys/create", {
  summary: "Create an API key",
  page: "/console/settings/keys",
  body: NewKeyForm,
  keptFields: ["name", "networks", "lifetime", ...Scope.options.map(scopeField)],
  handle: async ({ ctx, body }, operator) => {
    const { key } = await createKey(ctx, operator, toNewKey(body, ctx.now()));
    return {
      to: "/console/settings/keys",
      done: "key_created",
      cookies: [await setShownSecretCookie(ctx, operator.accountId, "key", key)],
    };
  },
});
