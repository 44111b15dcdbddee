"use client";

import {
  currentUser,
  getSubscriptionStatus,
  isEntitledTo,
  type SessionUser,
  type SubscriptionStatus,
  signInPage,
  signOut,
  unregisterFromWebPush,
  watchSubscriptionStatus,
} from "@homeport/client";
import { useEffect, useState } from "react";
import { homeport } from "./homeport";
import { Push } from "./push";

/** Your provider's checkout. It gives the purchase to the account whose id it gets, and returns to `/?bought`. */
const CHECKOUT = process.env.NEXT_PUBLIC_CHECKOUT_URL ?? "https://checkout.example.com/buy";

export function Account() {
  const [user, setUser] = useState<SessionUser | null>();
  useEffect(() => void currentUser(homeport).then(setUser, () => setUser(null)), []);

  async function leave(): Promise<void> {
    const serviceWorker = await navigator.serviceWorker.getRegistration();
    if (serviceWorker) await unregisterFromWebPush(homeport, { serviceWorker });
    await signOut(homeport);
    setUser(null);
  }

  if (user === undefined) return null;
  if (user === null) {
    const open = () => location.assign(signInPage(homeport, location.href));
    return (
      <button type="button" onClick={open}>
        Sign in
      </button>
    );
  }
  return (
    <>
      <p>
        {user.email}{" "}
        <button type="button" onClick={leave}>
          Sign out
        </button>
      </p>
      <Plan accountId={user.id} />
      <Push />
    </>
  );
}

/** What the account has paid for, as it changes, on whichever device. */
function Plan({ accountId }: { accountId: string }) {
  const [status, setStatus] = useState<SubscriptionStatus>();
  useEffect(() => {
    const stop = new AbortController();
    follow(setStatus, stop.signal).catch(() => {}); // the page was left, or the session has ended
    return () => stop.abort();
  }, []);

  if (!status) return null;
  if (isEntitledTo(status, "pro")) return <p>You have Acme Pro.</p>;
  return <a href={`${CHECKOUT}?client_reference_id=${accountId}`}>Buy Acme Pro</a>;
}

/** After a purchase, the service asks the provider first: its event may be on its way. */
async function follow(show: (status: SubscriptionStatus) => void, signal: AbortSignal): Promise<void> {
  const isFresh = new URLSearchParams(location.search).has("bought");
  if (isFresh) show(await getSubscriptionStatus(homeport, { isFresh, signal }));
  for await (const status of watchSubscriptionStatus(homeport, { signal })) show(status);
}
