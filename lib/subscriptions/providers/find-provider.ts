import { AppError } from "../../errors";
import type { Config } from "../../platform/config";
import { appStore } from "./app-store";
import { paddle } from "./paddle";
import type { Delivery, Provider } from "./provider";
import { revenueCat } from "./revenuecat";
import { standardWebhooks } from "./standard-webhooks";
import { stripe } from "./stripe";

const PROVIDERS: Provider[] = [revenueCat, standardWebhooks, stripe, paddle, appStore];

/** The provider of what operators grant. It delivers nothing. */
export const HOMEPORT = "homeport";

export const PROVIDER_NAMES = [...PROVIDERS.map(({ name }) => name), HOMEPORT];

/**
 * Returns the provider of a delivery: the one that the URL names, else the one whose signature it has, else the one
 * that `BILLING_PROVIDER` names. RevenueCat and Standard Webhooks share their variables, so that one of them is
 * configured.
 * @throws AppError webhook_not_configured
 */
export function providerOf(config: Config, delivery: Delivery): Provider {
  const byDefault = defaultProvider(config);
  const all: Provider[] = [byDefault, stripe, paddle, appStore];
  if (delivery.provider === undefined) return all.find((one) => one.recognizes(delivery, config)) ?? byDefault;
  const named = all.find(({ name }) => name === delivery.provider);
  if (!named) throw new AppError("webhook_not_configured");
  return named;
}

/** The names of the providers whose webhook is configured. The default one may have a secret that the service generated. */
export function configuredProviders(config: Config): string[] {
  const isDefault =
    config.BILLING_WEBHOOK_AUTHORIZATION.length > 0 || config.BILLING_WEBHOOK_SIGNING_SECRET !== undefined;
  const isConfigured: [Provider, boolean][] = [
    [defaultProvider(config), isDefault],
    [stripe, config.BILLING_STRIPE_WEBHOOK_SECRET.length > 0],
    [paddle, config.BILLING_PADDLE_WEBHOOK_SECRET.length + config.BILLING_PADDLE_SANDBOX_WEBHOOK_SECRET.length > 0],
    [appStore, config.BILLING_APP_STORE_APPS.length > 0],
  ];
  return isConfigured.flatMap(([{ name }, is]) => (is ? [name] : []));
}

const defaultProvider = (config: Config): Provider =>
  config.BILLING_PROVIDER === "standard-webhooks" ? standardWebhooks : revenueCat;

/** Returns a provider by its name in the database; undefined if this version does not have it. */
export function findProvider(name: string): Provider | undefined {
  return PROVIDERS.find((provider) => provider.name === name);
}
