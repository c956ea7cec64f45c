/* What the simulator does not do: programs that use it begin, and are told by name when they call it. */
#include "cudart.h"

#include <stdio.h>

static cudaError_t refused(const char *name, const char *what) {
  fprintf(stderr, "prlx: %s: the simulator has no %s\n", name, what);
  return done(cudaErrorNotSupported);
}

#define GRAPHS(name) API cudaError_t name(void) { return refused(#name, "graphs"); }
GRAPHS(cudaDeviceGetGraphMemAttribute) GRAPHS(cudaDeviceGraphMemTrim) GRAPHS(cudaDeviceSetGraphMemAttribute) GRAPHS(cudaGraphAddChildGraphNode)
GRAPHS(cudaGraphAddDependencies) GRAPHS(cudaGraphAddDependencies_v2) GRAPHS(cudaGraphAddEmptyNode) GRAPHS(cudaGraphAddEventRecordNode)
GRAPHS(cudaGraphAddEventWaitNode) GRAPHS(cudaGraphAddExternalSemaphoresSignalNode) GRAPHS(cudaGraphAddExternalSemaphoresWaitNode)
GRAPHS(cudaGraphAddHostNode) GRAPHS(cudaGraphAddKernelNode) GRAPHS(cudaGraphAddMemAllocNode) GRAPHS(cudaGraphAddMemFreeNode)
GRAPHS(cudaGraphAddMemcpyNode) GRAPHS(cudaGraphAddMemcpyNode1D) GRAPHS(cudaGraphAddMemcpyNodeFromSymbol) GRAPHS(cudaGraphAddMemcpyNodeToSymbol)
GRAPHS(cudaGraphAddMemsetNode) GRAPHS(cudaGraphAddNode) GRAPHS(cudaGraphAddNode_v2) GRAPHS(cudaGraphChildGraphNodeGetGraph) GRAPHS(cudaGraphClone)
GRAPHS(cudaGraphConditionalHandleCreate) GRAPHS(cudaGraphConditionalHandleCreate_v2) GRAPHS(cudaGraphCreate) GRAPHS(cudaGraphDebugDotPrint)
GRAPHS(cudaGraphDestroy) GRAPHS(cudaGraphDestroyNode) GRAPHS(cudaGraphEventRecordNodeGetEvent) GRAPHS(cudaGraphEventRecordNodeSetEvent)
GRAPHS(cudaGraphEventWaitNodeGetEvent) GRAPHS(cudaGraphEventWaitNodeSetEvent) GRAPHS(cudaGraphExecChildGraphNodeSetParams)
GRAPHS(cudaGraphExecDestroy) GRAPHS(cudaGraphExecEventRecordNodeSetEvent) GRAPHS(cudaGraphExecEventWaitNodeSetEvent)
GRAPHS(cudaGraphExecExternalSemaphoresSignalNodeSetParams) GRAPHS(cudaGraphExecExternalSemaphoresWaitNodeSetParams) GRAPHS(cudaGraphExecGetFlags)
GRAPHS(cudaGraphExecGetId) GRAPHS(cudaGraphExecHostNodeSetParams) GRAPHS(cudaGraphExecKernelNodeSetParams) GRAPHS(cudaGraphExecMemcpyNodeSetParams)
GRAPHS(cudaGraphExecMemcpyNodeSetParams1D) GRAPHS(cudaGraphExecMemcpyNodeSetParamsFromSymbol) GRAPHS(cudaGraphExecMemcpyNodeSetParamsToSymbol)
GRAPHS(cudaGraphExecMemsetNodeSetParams) GRAPHS(cudaGraphExecNodeSetParams) GRAPHS(cudaGraphExecUpdate)
GRAPHS(cudaGraphExternalSemaphoresSignalNodeGetParams) GRAPHS(cudaGraphExternalSemaphoresSignalNodeSetParams)
GRAPHS(cudaGraphExternalSemaphoresWaitNodeGetParams) GRAPHS(cudaGraphExternalSemaphoresWaitNodeSetParams) GRAPHS(cudaGraphGetEdges)
GRAPHS(cudaGraphGetEdges_v2) GRAPHS(cudaGraphGetId) GRAPHS(cudaGraphGetNodes) GRAPHS(cudaGraphGetRootNodes) GRAPHS(cudaGraphHostNodeGetParams)
GRAPHS(cudaGraphHostNodeSetParams) GRAPHS(cudaGraphInstantiate) GRAPHS(cudaGraphInstantiateWithFlags) GRAPHS(cudaGraphInstantiateWithParams)
GRAPHS(cudaGraphKernelNodeCopyAttributes) GRAPHS(cudaGraphKernelNodeGetAttribute) GRAPHS(cudaGraphKernelNodeGetParams)
GRAPHS(cudaGraphKernelNodeSetAttribute) GRAPHS(cudaGraphKernelNodeSetParams) GRAPHS(cudaGraphLaunch) GRAPHS(cudaGraphMemAllocNodeGetParams)
GRAPHS(cudaGraphMemFreeNodeGetParams) GRAPHS(cudaGraphMemcpyNodeGetParams) GRAPHS(cudaGraphMemcpyNodeSetParams) GRAPHS(cudaGraphMemcpyNodeSetParams1D)
GRAPHS(cudaGraphMemcpyNodeSetParamsFromSymbol) GRAPHS(cudaGraphMemcpyNodeSetParamsToSymbol) GRAPHS(cudaGraphMemsetNodeGetParams)
GRAPHS(cudaGraphMemsetNodeSetParams) GRAPHS(cudaGraphNodeFindInClone) GRAPHS(cudaGraphNodeGetContainingGraph) GRAPHS(cudaGraphNodeGetDependencies)
GRAPHS(cudaGraphNodeGetDependencies_v2) GRAPHS(cudaGraphNodeGetDependentNodes) GRAPHS(cudaGraphNodeGetDependentNodes_v2)
GRAPHS(cudaGraphNodeGetEnabled) GRAPHS(cudaGraphNodeGetLocalId) GRAPHS(cudaGraphNodeGetParams) GRAPHS(cudaGraphNodeGetToolsId)
GRAPHS(cudaGraphNodeGetType) GRAPHS(cudaGraphNodeSetEnabled) GRAPHS(cudaGraphNodeSetParams) GRAPHS(cudaGraphReleaseUserObject)
GRAPHS(cudaGraphRemoveDependencies) GRAPHS(cudaGraphRemoveDependencies_v2) GRAPHS(cudaGraphRetainUserObject) GRAPHS(cudaGraphUpload)
GRAPHS(cudaGraphicsEGLRegisterImage) GRAPHS(cudaGraphicsGLRegisterBuffer) GRAPHS(cudaGraphicsGLRegisterImage) GRAPHS(cudaGraphicsMapResources)
GRAPHS(cudaGraphicsResourceGetMappedEglFrame) GRAPHS(cudaGraphicsResourceGetMappedMipmappedArray) GRAPHS(cudaGraphicsResourceGetMappedPointer)
GRAPHS(cudaGraphicsResourceSetMapFlags) GRAPHS(cudaGraphicsSubResourceGetMappedArray) GRAPHS(cudaGraphicsUnmapResources)
GRAPHS(cudaGraphicsUnregisterResource) GRAPHS(cudaGraphicsVDPAURegisterOutputSurface) GRAPHS(cudaGraphicsVDPAURegisterVideoSurface)
GRAPHS(cudaStreamBeginCapture) GRAPHS(cudaStreamBeginCaptureToGraph) GRAPHS(cudaStreamBeginRecaptureToGraph) GRAPHS(cudaStreamEndCapture)
GRAPHS(cudaStreamGetCaptureInfo) GRAPHS(cudaStreamGetCaptureInfo_v2) GRAPHS(cudaStreamGetCaptureInfo_v3) GRAPHS(cudaStreamUpdateCaptureDependencies)
GRAPHS(cudaStreamUpdateCaptureDependencies_v2) GRAPHS(cudaUserObjectCreate) GRAPHS(cudaUserObjectRelease) GRAPHS(cudaUserObjectRetain)

#define MIPMAPS(name) API cudaError_t name(void) { return refused(#name, "arrays of several levels, and none without memory"); }
MIPMAPS(cudaArrayGetMemoryRequirements) MIPMAPS(cudaArrayGetPlane) MIPMAPS(cudaArrayGetSparseProperties)
MIPMAPS(cudaExternalMemoryGetMappedMipmappedArray) MIPMAPS(cudaFreeMipmappedArray) MIPMAPS(cudaGetMipmappedArrayLevel)
MIPMAPS(cudaMallocMipmappedArray) MIPMAPS(cudaMipmappedArrayGetMemoryRequirements) MIPMAPS(cudaMipmappedArrayGetSparseProperties)

#define GRAPHICS(name) API cudaError_t name(void) { return refused(#name, "graphics"); }
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
