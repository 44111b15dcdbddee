const STORE = "installations";

/** This browser, as the service at one URL knows it. */
type Installation = { installationId: string; deviceId?: string };

/** What is stored for a service; undefined if the user has not turned push on. */
export function loadInstallation(serviceUrl: string): Promise<Installation | undefined> {
  return inStore("readonly", (store) => store.get(serviceUrl));
}

export async function saveInstallation(serviceUrl: string, installation: Installation): Promise<void> {
  await inStore("readwrite", (store) => store.put(installation, serviceUrl));
}

export async function deleteInstallation(serviceUrl: string): Promise<void> {
  await inStore("readwrite", (store) => store.delete(serviceUrl));
}

/** A request to IndexedDB, the only storage that pages and service workers share and that apps do not clear as a cache. */
function inStore<T>(mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open("homeport", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
      const database = opening.result;
      const transaction = database.transaction(STORE, mode);
      const request = act(transaction.objectStore(STORE));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onabort = () => reject(transaction.error);
      database.close(); // once the transaction has ended
    };
  });
}
