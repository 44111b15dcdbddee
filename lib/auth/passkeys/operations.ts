import type { z } from "zod";
import { AppError } from "../../errors";
import { operation } from "../../operation";
import type { Config } from "../../platform/config";
import { RouteResponse } from "../../platform/http-message";
import { AppleAppSiteAssociation, DigitalAssetLinks, PasskeyEndpoints, RelatedOrigins } from "./schema";

const FINGERPRINT = Array.from({ length: 32 }, (_, index) => (index + 160).toString(16).toUpperCase()).join(":");

/** The same response for an hour. @throws AppError not_found without what it lists */
function forAnHour<Body>(body: Body, listed?: readonly unknown[]): RouteResponse<Body> {
  if (listed?.length === 0) throw new AppError("not_found");
  return new RouteResponse(200, body, { "Cache-Control": "public, max-age=3600" });
}

/** Apple's list of the apps that share passkeys with this domain ("Supporting associated domains"). */
function appleAppSiteAssociation(apps: Config["AUTH_PASSKEY_APPLE_APPS"]): z.infer<typeof AppleAppSiteAssociation> {
  return { webcredentials: { apps: [...apps] } };
}

/** Android's list of the apps that share passkeys with this domain (Google, "Digital Asset Links"). */
function digitalAssetLinks(apps: Config["AUTH_PASSKEY_ANDROID_APPS"]): z.infer<typeof DigitalAssetLinks> {
  return apps.map(({ packageName, fingerprint }) => ({
    relation: ["delegate_permission/common.handle_all_urls", "delegate_permission/common.get_login_creds"],
    target: { namespace: "android_app", package_name: packageName, sha256_cert_fingerprints: [fingerprint] },
  }));
}

/** W3C, "A Well-Known URL for Relying Party Passkey Endpoints". */
function passkeyEndpoints(baseUrl: string): z.infer<typeof PasskeyEndpoints> {
  return { enroll: `${baseUrl}/account/passkeys/add`, manage: `${baseUrl}/account#passkeys` };
}

export const passkeyDomainOperations = {
  getPasskeyEndpoints: operation({
    id: "getPasskeyEndpoints",
    summary: "Find the pages for passkeys",
    description: "Where password managers send people to add passkeys and to manage them.",
    database: false,
    response: {
      description: "The pages.",
      schema: PasskeyEndpoints,
      examples: { "The pages": passkeyEndpoints("https://api.example.com") },
    },
    run: ({ ctx: { config } }) => forAnHour(passkeyEndpoints(config.baseUrl)),
  }),

  getRelatedOrigins: operation({
    id: "getRelatedOrigins",
    summary: "List the other origins that may use the passkeys",
    description:
      "`PASSKEY_RELATED_ORIGINS`, as browsers read them before a page of another domain may use a passkey of this one. 404 if there are none.",
    database: false,
    errors: ["not_found"],
    response: {
      description: "The origins.",
      schema: RelatedOrigins,
      examples: { "One origin": { origins: ["https://www.example.org"] } },
    },
    run: ({ ctx: { config } }) =>
      forAnHour({ origins: config.PASSKEY_RELATED_ORIGINS }, config.PASSKEY_RELATED_ORIGINS),
  }),

  getAppleAppSiteAssociation: operation({
    id: "getAppleAppSiteAssociation",
    summary: "List the Apple apps that may use the passkeys",
    description:
      "The apps in `AUTH_PASSKEY_APPLE_APPS`, as Apple's systems read them before an app may use a passkey of this domain. 404 if there are none.",
    database: false,
    errors: ["not_found"],
    response: {
      description: "The apps.",
      schema: AppleAppSiteAssociation,
      examples: { "One app": appleAppSiteAssociation(["ABCDE12345.com.example.app"]) },
    },
    run: ({ ctx: { config } }) =>
      forAnHour(appleAppSiteAssociation(config.AUTH_PASSKEY_APPLE_APPS), config.AUTH_PASSKEY_APPLE_APPS),
  }),

  getDigitalAssetLinks: operation({
    id: "getDigitalAssetLinks",
    summary: "List the Android apps that may use the passkeys",
    description:
      "The apps in `AUTH_PASSKEY_ANDROID_APPS`, as Android reads them before an app may use a passkey of this domain. 404 if there are none.",
    database: false,
    errors: ["not_found"],
    response: {
      description: "The apps.",
      schema: DigitalAssetLinks,
      examples: { "One app": digitalAssetLinks([{ packageName: "com.example.app", fingerprint: FINGERPRINT }]) },
    },
    run: ({ ctx: { config } }) =>
      forAnHour(digitalAssetLinks(config.AUTH_PASSKEY_ANDROID_APPS), config.AUTH_PASSKEY_ANDROID_APPS),
  }),
};
