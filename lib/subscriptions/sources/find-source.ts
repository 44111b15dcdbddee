import type { Context } from "../../context";
import { appStoreSource } from "./app-store";
import { paddleSource } from "./paddle";
import { revenueCatSource } from "./revenuecat";
import type { Source } from "./source";
import { stripeSource } from "./stripe";

const SOURCES: readonly Source[] = [revenueCatSource, stripeSource, paddleSource, appStoreSource];

/** The settings of which reconciling needs one. */
export const API_KEYS = SOURCES.map(({ api }) => api.setting);

/** The providers whose API there is a key for. */
export function openSources(deps: Pick<Context, "billing">): Source[] {
  return SOURCES.filter(({ isOpen }) => isOpen(deps));
}

/** The source of a provider whose API there is a key for. */
export function sourceOf(deps: Pick<Context, "billing">, provider: string): Source {
  const source = openSources(deps).find((one) => one.provider === provider);
  if (!source) throw new Error(`${provider}: no API key is set`);
  return source;
}
