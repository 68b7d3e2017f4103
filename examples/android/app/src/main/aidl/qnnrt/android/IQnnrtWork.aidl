package qnnrt.android;

/** What QnnrtService offers to the app that it belongs to. */
interface IQnnrtWork {
    /** Return the number of the service's process, which the app may end. */
    int pid();

    /** Answer a part of a request of QnnrtProcess, at most 256 KB each way; tensors lie in files. */
    byte[] call(in byte[] request);
}
