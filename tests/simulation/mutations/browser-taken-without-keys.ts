import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "An account can register another's browser without its keys",
  file: "lib/push/devices/register-browser.ts",
  search: `  if (others.some(({ webPushKeys }) => !isDeepStrictEqual(webPushKeys, keys)))
    throw evidenceInvalid("subscription_mismatch");
`,
  replace: "",
};
