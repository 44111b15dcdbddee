import type { ReactNode } from "react";
import { pageContext } from "@/lib/auth/visitor";
import { Form } from "../components/form";

type Props = { id: string; callbackUrl: string; children: ReactNode };

/** Leads to a provider's sign-in: at once, or after the notice that AUTH_LEAVING_NOTICE asks for. With the provider's logo. */
export function ProviderButton({ id, callbackUrl, children }: Props) {
  if (!pageContext().config.AUTH_LEAVING_NOTICE) {
    return (
      <ProviderForm id={id} callbackUrl={callbackUrl}>
        {children}
      </ProviderForm>
    );
  }
  return (
    <a className={`button provider ${id}`} href={`/leaving?${new URLSearchParams({ provider: id, callbackUrl })}`}>
      <ProviderLogo id={id} />
      <span>{children}</span>
    </a>
  );
}

/** Starts a sign-in with a provider, or its linking to the account. */
export function ProviderForm({ id, callbackUrl, children }: Props) {
  return (
    <Form action="/forms/provider">
      <input type="hidden" name="callbackUrl" value={callbackUrl} />
      <input type="hidden" name="provider" value={id} />
      <button type="submit" className={`provider ${id}`}>
        <ProviderLogo id={id} />
        <span>{children}</span>
      </button>
    </Form>
  );
}

/** The logos as the providers' guidelines have them: Google's in its four colors, the others in the text's color. */
export function ProviderLogo({ id }: { id: string }) {
  const paths = PATHS[id];
  if (!paths) return null;
  return (
    <svg
      viewBox={id === "google" ? "0 0 48 48" : "0 0 24 24"}
      width="20"
      height="20"
      fill="currentColor"
      aria-hidden="true"
    >
      {paths}
    </svg>
  );
}

const PATHS: Record<string, ReactNode> = {
  google: (
    <>
      <path
        fill="#EA4335"
        d="M24 9.5c3.54 0 6.71 1.22 9.21 3.6l6.85-6.85C35.9 2.38 30.47 0 24 0 14.62 0 6.51 5.38 2.56 13.22l7.98 6.19C12.43 13.72 17.74 9.5 24 9.5z"
      />
      <path
        fill="#4285F4"
        d="M46.98 24.55c0-1.57-.15-3.09-.38-4.55H24v9.02h12.94c-.58 2.96-2.26 5.48-4.78 7.18l7.73 6c4.51-4.18 7.09-10.36 7.09-17.65z"
      />
      <path
        fill="#FBBC05"
        d="M10.53 28.59c-.48-1.45-.76-2.99-.76-4.59s.27-3.14.76-4.59l-7.98-6.19C.92 16.46 0 20.12 0 24c0 3.88.92 7.54 2.56 10.78l7.97-6.19z"
      />
      <path
        fill="#34A853"
        d="M24 48c6.48 0 11.93-2.13 15.89-5.81l-7.73-6c-2.15 1.45-4.92 2.3-8.16 2.3-6.26 0-11.57-4.22-13.47-9.91l-7.98 6.19C6.51 42.62 14.62 48 24 48z"
      />
    </>
  ),
  apple: (
    <path d="M17.05 12.54c-.03-2.6 2.12-3.85 2.22-3.91-1.21-1.77-3.09-2.01-3.76-2.04-1.6-.16-3.13.94-3.94.94-.81 0-2.06-.92-3.39-.89-1.74.03-3.35 1.01-4.25 2.57-1.81 3.14-.46 7.79 1.3 10.34.86 1.25 1.89 2.65 3.24 2.6 1.3-.05 1.79-.84 3.36-.84s2.01.84 3.39.81c1.4-.02 2.29-1.27 3.14-2.53.99-1.45 1.4-2.85 1.42-2.93-.03-.01-2.72-1.04-2.75-4.14zM14.46 4.91c.72-.87 1.2-2.08 1.07-3.28-1.03.04-2.28.69-3.02 1.55-.66.77-1.24 1.99-1.09 3.17 1.15.09 2.32-.59 3.04-1.44z" />
  ),
  github: (
    <path d="M12 .5C5.65.5.5 5.65.5 12c0 5.08 3.29 9.39 7.86 10.91.58.11.79-.25.79-.56v-1.95c-3.2.7-3.87-1.54-3.87-1.54-.52-1.33-1.28-1.68-1.28-1.68-1.04-.71.08-.7.08-.7 1.16.08 1.77 1.19 1.77 1.19 1.03 1.76 2.7 1.25 3.36.96.1-.75.4-1.25.73-1.54-2.55-.29-5.24-1.28-5.24-5.69 0-1.26.45-2.28 1.18-3.09-.12-.29-.51-1.46.11-3.04 0 0 .97-.31 3.16 1.18a10.98 10.98 0 0 1 5.76 0c2.19-1.49 3.15-1.18 3.15-1.18.63 1.58.24 2.75.12 3.04.74.81 1.18 1.83 1.18 3.09 0 4.42-2.69 5.39-5.25 5.68.41.36.78 1.06.78 2.14v3.17c0 .31.21.68.8.56A11.51 11.51 0 0 0 23.5 12C23.5 5.65 18.35.5 12 .5z" />
  ),
};
