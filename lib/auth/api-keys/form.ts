import { z } from "zod";
import { Network } from "../../platform/config/networks";
import { fieldMessage } from "../../platform/errors/field-message";
import { checkedNames } from "../../platform/http/pages/checkboxes";
import { NewKey } from "./schema";

const DAY_MS = 24 * 60 * 60 * 1000;

/** How long a new key may live, in days. */
export const KEY_LIFETIMES = { 30: "30 days", 90: "90 days", 365: "1 year", never: "Does not expire" } as const;

/** The name of the checkbox of a scope. */
export const scopeField = (scope: string): string => `scope.${scope}`;

/** Networks as a person types them: separated by commas, spaces or lines. */
const Networks = z
  .string()
  .max(2_000)
  .default("")
  .transform((text, context): string[] => {
    const parsed = text
      .split(/[\s,]+/)
      .filter(Boolean)
      .map((one) => Network.safeParse(one, { error: fieldMessage }));
    const failed = parsed.find(({ success }) => !success);
    if (failed) context.addIssue({ code: "custom", message: failed.error?.issues[0]?.message ?? "Must be networks" });
    return parsed.flatMap(({ data }) => data ?? []);
  });

/** The fields of the form that creates an API key. */
export const NewKeyForm = z
  .looseObject({})
  .transform((fields) => ({ ...fields, scopes: checkedNames(fields, scopeField("")) }))
  .pipe(
    z.object({
      name: NewKey.shape.name,
      scopes: z.array(z.string()).min(1, "Choose at least one").pipe(NewKey.shape.scopes),
      lifetime: z.enum(["30", "90", "365", "never"]),
      networks: Networks.pipe(NewKey.shape.networks.unwrap()),
    }),
  );
export type NewKeyForm = z.infer<typeof NewKeyForm>;

/** The key that a form asks for, from `now` on. */
export function toNewKey({ lifetime, ...key }: NewKeyForm, now: Date): NewKey {
  const expiresAt = lifetime === "never" ? null : new Date(now.getTime() + Number(lifetime) * DAY_MS);
  return { ...key, expiresAt };
}
