import { freePort } from "@/dev/free-port";
import { IdentityProvider } from "@/tests/support/auth/identity-provider";
import { mailbox } from "@/tests/support/mailbox";
import { startTlsFront } from "@/tests/support/network/tls-front";
import { anyDatabase, type Service, startService } from "./service";

export type WebService = {
  /** Where browsers find it, over TLS. */
  origin: string;
  service: Service;
  google: IdentityProvider;
  apple: IdentityProvider;
  github: IdentityProvider;
  close: () => Promise<void>;
};

/** The service as `npm start` runs it, behind a proxy that ends TLS, with all three providers and real mail. */
export async function startWebService(
  env: Record<string, string> = {},
  pages: Parameters<typeof startTlsFront>[1] = {},
): Promise<WebService> {
  const front = await startTlsFront(await freePort(), pages);
  const [google, apple, github] = await Promise.all([
    IdentityProvider.start("google", front.origin),
    IdentityProvider.start("apple", front.origin),
    IdentityProvider.start("github", front.origin),
  ]);
  const service = await startService({
    NEXTAUTH_URL: front.origin,
    TRUSTED_PROXY_HOPS: "1",
    SMTP_URL: await mailbox.start(),
    ...google.variables,
    ...apple.variables,
    ...github.variables,
    ...(await anyDatabase()),
    ...env,
  });
  front.forwardTo(service.url);
  const close = async () => {
    await service.end("SIGKILL");
    for (const part of [front, google, apple, github]) part.close();
  };
  return { origin: front.origin, service, google, apple, github, close };
}
