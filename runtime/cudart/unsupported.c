/* What the simulator does not do: programs that use it begin, and are told by name when they call it. */
#include "cudart.h"

#include <stdio.h>

static cudaError_t refused(const char *name, const char *what) {
  fprintf(stderr, "prlx: %s: the simulator has no %s\n", name, what);
  return done(cudaErrorNotSupported);
}

#define GRAPHS(name) API cudaError_t name(void) { return refused(#name, "such graphs"); }
GRAPHS(cudaGraphAddExternalSemaphoresSignalNode) GRAPHS(cudaGraphAddExternalSemaphoresWaitNode) GRAPHS(cudaGraphConditionalHandleCreate)
GRAPHS(cudaGraphConditionalHandleCreate_v2) GRAPHS(cudaGraphDebugDotPrint) GRAPHS(cudaGraphDestroyNode) GRAPHS(cudaGraphEventRecordNodeGetEvent)
GRAPHS(cudaGraphEventRecordNodeSetEvent) GRAPHS(cudaGraphEventWaitNodeGetEvent) GRAPHS(cudaGraphEventWaitNodeSetEvent)
GRAPHS(cudaGraphExecChildGraphNodeSetParams) GRAPHS(cudaGraphExecEventRecordNodeSetEvent) GRAPHS(cudaGraphExecEventWaitNodeSetEvent)
GRAPHS(cudaGraphExecExternalSemaphoresSignalNodeSetParams) GRAPHS(cudaGraphExecExternalSemaphoresWaitNodeSetParams) GRAPHS(cudaGraphExecGetFlags)
GRAPHS(cudaGraphExecGetId) GRAPHS(cudaGraphExecMemcpyNodeSetParamsFromSymbol) GRAPHS(cudaGraphExecMemcpyNodeSetParamsToSymbol)
GRAPHS(cudaGraphExecNodeSetParams) GRAPHS(cudaGraphExternalSemaphoresSignalNodeGetParams) GRAPHS(cudaGraphExternalSemaphoresSignalNodeSetParams)
GRAPHS(cudaGraphExternalSemaphoresWaitNodeGetParams) GRAPHS(cudaGraphExternalSemaphoresWaitNodeSetParams) GRAPHS(cudaGraphGetId)
GRAPHS(cudaGraphKernelNodeCopyAttributes) GRAPHS(cudaGraphKernelNodeGetAttribute) GRAPHS(cudaGraphMemAllocNodeGetParams)
GRAPHS(cudaGraphMemFreeNodeGetParams) GRAPHS(cudaGraphMemcpyNodeSetParamsFromSymbol) GRAPHS(cudaGraphMemcpyNodeSetParamsToSymbol)
GRAPHS(cudaGraphNodeGetContainingGraph) GRAPHS(cudaGraphNodeGetDependentNodes) GRAPHS(cudaGraphNodeGetDependentNodes_v2)
GRAPHS(cudaGraphNodeGetLocalId) GRAPHS(cudaGraphNodeGetParams) GRAPHS(cudaGraphNodeGetToolsId) GRAPHS(cudaGraphNodeSetParams)
GRAPHS(cudaGraphReleaseUserObject) GRAPHS(cudaGraphRemoveDependencies) GRAPHS(cudaGraphRemoveDependencies_v2) GRAPHS(cudaGraphRetainUserObject)
GRAPHS(cudaStreamBeginRecaptureToGraph) GRAPHS(cudaUserObjectCreate) GRAPHS(cudaUserObjectRelease) GRAPHS(cudaUserObjectRetain)

#define MIPMAPS(name) API cudaError_t name(void) { return refused(#name, "arrays of several levels, and none without memory"); }
MIPMAPS(cudaArrayGetMemoryRequirements) MIPMAPS(cudaArrayGetPlane) MIPMAPS(cudaArrayGetSparseProperties)
MIPMAPS(cudaExternalMemoryGetMappedMipmappedArray) MIPMAPS(cudaFreeMipmappedArray) MIPMAPS(cudaGetMipmappedArrayLevel)
MIPMAPS(cudaMallocMipmappedArray) MIPMAPS(cudaMipmappedArrayGetMemoryRequirements) MIPMAPS(cudaMipmappedArrayGetSparseProperties)

#define GRAPHICS(name) API cudaError_t name(void) { return refused(#name, "graphics"); }
GRAPHICS(cudaGraphicsEGLRegisterImage) GRAPHICS(cudaGraphicsGLRegisterBuffer) GRAPHICS(cudaGraphicsGLRegisterImage) GRAPHICS(cudaGraphicsMapResources)
GRAPHICS(cudaGraphicsResourceGetMappedEglFrame) GRAPHICS(cudaGraphicsResourceGetMappedMipmappedArray) GRAPHICS(cudaGraphicsResourceGetMappedPointer)
GRAPHICS(cudaGraphicsResourceSetMapFlags) GRAPHICS(cudaGraphicsSubResourceGetMappedArray) GRAPHICS(cudaGraphicsUnmapResources)
GRAPHICS(cudaGraphicsUnregisterResource) GRAPHICS(cudaGraphicsVDPAURegisterOutputSurface) GRAPHICS(cudaGraphicsVDPAURegisterVideoSurface)
GRAPHICS(cudaEGLStreamConsumerAcquireFrame) GRAPHICS(cudaEGLStreamConsumerConnect) GRAPHICS(cudaEGLStreamConsumerConnectWithFlags)
GRAPHICS(cudaEGLStreamConsumerDisconnect) GRAPHICS(cudaEGLStreamConsumerReleaseFrame) GRAPHICS(cudaEGLStreamProducerConnect)
GRAPHICS(cudaEGLStreamProducerDisconnect) GRAPHICS(cudaEGLStreamProducerPresentFrame) GRAPHICS(cudaEGLStreamProducerReturnFrame)
GRAPHICS(cudaEventCreateFromEGLSync) GRAPHICS(cudaGLGetDevices) GRAPHICS(cudaGLMapBufferObject) GRAPHICS(cudaGLMapBufferObjectAsync)
GRAPHICS(cudaGLRegisterBufferObject) GRAPHICS(cudaGLSetBufferObjectMapFlags) GRAPHICS(cudaGLSetGLDevice) GRAPHICS(cudaGLUnmapBufferObject)
GRAPHICS(cudaGLUnmapBufferObjectAsync) GRAPHICS(cudaGLUnregisterBufferObject) GRAPHICS(cudaVDPAUGetDevice) GRAPHICS(cudaVDPAUSetVDPAUDevice)

#define OTHERS(name) API cudaError_t name(void) { return refused(#name, "memory and semaphores of other programs"); }
OTHERS(cudaDestroyExternalMemory) OTHERS(cudaDestroyExternalSemaphore) OTHERS(cudaDeviceGetNvSciSyncAttributes)
OTHERS(cudaExternalMemoryGetMappedBuffer) OTHERS(cudaGetExportTable) OTHERS(cudaImportExternalMemory) OTHERS(cudaImportExternalSemaphore)
OTHERS(cudaIpcCloseMemHandle) OTHERS(cudaIpcGetEventHandle) OTHERS(cudaIpcGetMemHandle) OTHERS(cudaIpcOpenEventHandle) OTHERS(cudaIpcOpenMemHandle)
OTHERS(cudaMemPoolExportPointer) OTHERS(cudaMemPoolExportToShareableHandle) OTHERS(cudaMemPoolImportFromShareableHandle)
OTHERS(cudaMemPoolImportPointer) OTHERS(cudaSignalExternalSemaphoresAsync) OTHERS(cudaSignalExternalSemaphoresAsync_v2)
OTHERS(cudaWaitExternalSemaphoresAsync) OTHERS(cudaWaitExternalSemaphoresAsync_v2)

#define PARTS(name) API cudaError_t name(void) { return refused(#name, "parts of a device"); }
PARTS(cudaDevResourceGenerateDesc) PARTS(cudaDevSmResourceSplit) PARTS(cudaDevSmResourceSplitByCount) PARTS(cudaDeviceGetDevResource)
PARTS(cudaDeviceGetExecutionCtx) PARTS(cudaExecutionCtxDestroy) PARTS(cudaExecutionCtxGetDevResource) PARTS(cudaExecutionCtxGetDevice)
PARTS(cudaExecutionCtxGetId) PARTS(cudaExecutionCtxRecordEvent) PARTS(cudaExecutionCtxStreamCreate) PARTS(cudaExecutionCtxSynchronize)
PARTS(cudaExecutionCtxWaitEvent) PARTS(cudaGreenCtxCreate) PARTS(cudaStreamGetDevResource) PARTS(cudaSubgridCreate) PARTS(cudaSubgridWorkerGridCreate)
PARTS(cudaSubgridWorksetCreate)

#define REST(name) API cudaError_t name(void) { return refused(#name, "such function"); }
REST(cudaDeviceFlushGPUDirectRDMAWrites) REST(cudaDeviceGetHostAtomicCapabilities) REST(cudaDeviceGetP2PAtomicCapabilities)
REST(cudaDeviceGetP2PAttribute) REST(cudaDeviceRegisterAsyncNotification) REST(cudaDeviceUnregisterAsyncNotification) REST(cudaFuncGetParamCount)
REST(cudaFuncGetParamInfo) REST(cudaLaunchCooperativeKernelMultiDevice) REST(cudaLaunchHostFunc_v2) REST(cudaLibraryEnumerateKernels)
REST(cudaLibraryGetKernelCount) REST(cudaLibraryGetManaged) REST(cudaLibraryGetUnifiedFunction) REST(cudaLogsCurrent) REST(cudaLogsDumpToFile)
REST(cudaLogsDumpToMemory) REST(cudaLogsRegisterCallback) REST(cudaLogsUnregisterCallback) REST(cudaMemDiscardAndPrefetchBatchAsync)
REST(cudaMemDiscardBatchAsync) REST(cudaMemGetDefaultMemPool) REST(cudaMemGetLocationInfo) REST(cudaMemGetMemPool) REST(cudaMemPoolGetAccess)
REST(cudaMemPrefetchBatchAsync) REST(cudaMemRangeGetAttribute) REST(cudaMemRangeGetAttributes) REST(cudaMemSetMemPool) REST(cudaMemcpy3DBatchAsync)
REST(cudaMemcpy3DPeer) REST(cudaMemcpy3DPeerAsync) REST(cudaMemcpy3DWithAttributesAsync) REST(cudaMemcpyBatchAsync)
REST(cudaMemcpyWithAttributesAsync) REST(cudaOccupancyMaxActiveClusters) REST(cudaOccupancyMaxPotentialClusterSize) REST(cudaSetDoubleForDevice)
REST(cudaSetDoubleForHost) REST(cudaStreamCopyAttributes) REST(cudaStreamGetAttribute) REST(cudaStreamSetAttribute) REST(cudaThreadGetCacheConfig)
REST(cudaThreadGetLimit) REST(cudaThreadSetCacheConfig) REST(cudaThreadSetLimit)
