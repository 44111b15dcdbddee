"use client";

import { HomeportError, onPush, type PushMessage, refreshWebPush, registerForWebPush } from "@homeport/client";
import { useEffect, useState } from "react";
import { homeport } from "./homeport";

/** Turns notifications on, and shows the one that arrives while the page is open. */
export function Push() {
  const [worker, setWorker] = useState<ServiceWorkerRegistration>();
  const [isOn, setIsOn] = useState(false);
  const [error, setError] = useState<string>();
  const [push, setPush] = useState<PushMessage>();

  useEffect(() => {
    const stop = new AbortController();
    onPush(setPush, { signal: stop.signal });
    start()
      .then(([serviceWorker, device]) => {
        setWorker(serviceWorker);
        setIsOn(device !== null);
      })
      .catch((reason) => setError(String(reason)));
    return () => stop.abort();
  }, []);

  async function turnOn(serviceWorker: ServiceWorkerRegistration): Promise<void> {
    try {
      setIsOn((await registerForWebPush(homeport, { serviceWorker })) !== null);
    } catch (reason) {
      setError(reason instanceof HomeportError ? reason.code : String(reason));
    }
  }

  return (
    <>
      {worker && !isOn && (
        <button type="button" onClick={() => turnOn(worker)}>
          Notify me
        </button>
      )}
      {push && <p role="status">{push.title}</p>}
      {error && <p role="alert">{error}</p>}
    </>
  );
}

async function start() {
  await navigator.serviceWorker.register("/push-worker.js");
  const serviceWorker = await navigator.serviceWorker.ready;
  return [serviceWorker, await refreshWebPush(homeport, { serviceWorker })] as const;
}
