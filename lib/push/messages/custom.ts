import { toStorableText } from "../../platform/storable";
import type { Translation } from "./translations";

/** What an operator may choose of a notification (Apple, "Generating a remote notification", table 1). */
export type CustomOptions = {
  /** Texts by language tag in lower case. */
  translations?: Record<string, Translation> | undefined;
  data?: Record<string, string> | undefined;
  badge?: number | undefined;
  category?: string | undefined;
  threadId?: string | undefined;
  /** null: none. */
  sound?: string | null | undefined;
  mutableContent?: boolean | undefined;
  relevanceScore?: number | undefined;
  interruptionLevel?: "passive" | "active" | "time-sensitive" | undefined;
  collapseId?: string | undefined;
  ttlSeconds?: number | undefined;
};

/** Returns the fields of `aps` that an operator has chosen. Undefined fields are left out of the JSON. */
export function customAps(message: CustomOptions): object {
  const { badge, category, threadId, mutableContent, relevanceScore, interruptionLevel: level } = message;
  const sound = message.sound === undefined && level !== "passive" ? "default" : (message.sound ?? undefined);
  return {
    sound,
    ...(threadId === undefined ? {} : { "thread-id": threadId }),
    ...(level === undefined ? {} : { "interruption-level": level }),
    ...(mutableContent ? { "mutable-content": 1 } : {}),
    ...(relevanceScore === undefined ? {} : { "relevance-score": relevanceScore }),
    badge,
    category,
  };
}

/** Replaces what PostgreSQL cannot store. */
export function toText({ title, body }: Translation): Translation {
  return { title: toStorableText(title), body: toStorableText(body) };
}

/** Replaces what PostgreSQL cannot store. */
export function toStorableFields(data: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(data).map(([name, text]) => [name, toStorableText(text)]));
}
